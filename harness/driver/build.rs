//! Tells the linker where the empty `libcuda.so` and `libnvrtc.so` are, and the crate whether it is
//! built with frame pointers.

use std::env;
use std::path::Path;

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let stubs = Path::new(&root).join("link/lib64");
    // cudarc and cust both pass `-lcuda`, and cudarc's nvrtc feature `-lnvrtc`. An empty file is a
    // valid linker script that adds nothing; the symbols come from this crate.
    println!("cargo:rustc-link-search=native={}", stubs.display());
    println!("cargo:rerun-if-changed=build.rs");

    println!("cargo:rustc-check-cfg=cfg(frame_pointers)");
    println!("cargo:rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if flags.contains("force-frame-pointers=yes") {
        println!("cargo:rustc-cfg=frame_pointers");
    }
}
