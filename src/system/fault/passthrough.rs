//! The point in a program that injects no faults: all calls pass.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use super::calls::Call;

/// Makes a change.
pub fn call<T>(_call: Call<'_>, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    run()
}

/// Writes all bytes to a file.
pub fn write_all(mut file: &File, _path: &Path, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

/// Takes the variable with the fault from a program that is about to start; here there is none.
pub fn hide_from(_command: &mut Command) {}
