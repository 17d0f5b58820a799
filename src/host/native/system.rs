//! Errors as the system gives them, and names for what is not whole yet.

use std::path::{Path, PathBuf};

use nix::errno::Errno;

/// What the system said, without its number.
pub(super) fn why(error: &std::io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_owned()
}

/// An error as the system itself gives it.
pub(super) fn because(reason: Errno) -> std::io::Error {
    std::io::Error::from_raw_os_error(reason as i32)
}

/// A hidden name in the same folder, which nobody else has.
pub(super) fn beside(path: &Path) -> PathBuf {
    path.with_file_name(format!(".unfurl-{}", ulid::Ulid::generate()))
}
