//! Links a library of its own.

macro_rules! with {
    ($name:ident) => {
        #[$name(name = "m")]
        unsafe extern "C" {}
    };
}

with!(link);
