//! Puts the functions that most runs call next to each other in the program of the profile `dist`.
//!
//! The system maps code into memory in blocks of 64 KiB around each page in use. Without this order, the 1,500 functions of
//! a command on hosts are spread over the whole program, and take 13 MB of memory instead of 8.
//! `benches/hot_functions.py` writes the list. A name that no longer exists is ignored.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script cannot use the library"
)]

use std::env;
use std::path::Path;

/// The linker script with the names of the functions.
const FUNCTIONS: &str = "benches/hot_functions.ld";

fn main() {
    println!("cargo::rerun-if-changed={FUNCTIONS}");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    // Other profiles are linked often, and with any linker. Not all linkers know such scripts.
    let folder = variable("OUT_DIR");
    let is_dist = Path::new(&folder)
        .components()
        .any(|it| it.as_os_str() == "dist");
    if is_dist && variable("CARGO_CFG_TARGET_OS") == "linux" {
        let project = variable("CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-arg-bin=unfurl=-Wl,-T,{project}/{FUNCTIONS}");
    }
}
