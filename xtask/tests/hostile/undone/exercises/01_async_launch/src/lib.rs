//! All of it is commented out.

// pub fn enqueue_and_wait() {}
