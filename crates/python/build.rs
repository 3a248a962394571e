//! Lays the functions that ordinary programs run side by side in the library (`hot_functions.txt`, made by
//! `make order`). Names that are not there are passed over, so a stale list costs memory and nothing else.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=hot_functions.txt");
    let list = format!("{}/hot_functions.txt", var("CARGO_MANIFEST_DIR").unwrap_or_default());
    if linker_is_lld() {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--symbol-ordering-file={list}");
        println!("cargo::rustc-link-arg-cdylib=-Wl,--no-warn-symbol-ordering");
    }
}

/// Rust links with its own lld on this target unless told otherwise; other linkers do not know the option.
fn linker_is_lld() -> bool {
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let told = ["fuse-ld", "linker-features", "linker="].iter().any(|word| flags.contains(word));
    let linker = var("RUSTC_LINKER").is_ok();
    var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu") && !told && !linker
}
