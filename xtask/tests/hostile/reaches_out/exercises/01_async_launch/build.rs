//! A build script, if anybody ran it.

fn main() {
    panic!("it was run");
}
