//! Hints for errors that mean that a limit of this process or its user is reached (`ulimit`).

use std::io;

use nix::libc;

/// Describes why a program or thread could not be started. Names the limit that was reached.
pub fn start_problem(subject: &str, error: &io::Error) -> String {
    format!("could not run {subject}: {error}{}", limit_suffix(error))
}

/// Returns the hint of [`limit_hint`] as the end of a message; empty if there is none.
pub fn limit_suffix(error: &io::Error) -> String {
    limit_hint(error).map_or_else(String::new, |hint| format!("; {hint}"))
}

/// Returns a hint for an error that means that a limit of this process or its user is reached.
pub fn limit_hint(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        libc::EMFILE => Some("raise the limit for open files with `ulimit -n`"),
        libc::ENFILE => Some("close other programs: this machine can open no more files"),
        libc::EAGAIN => Some(
            "raise the limit for processes and threads with `ulimit -u`, or for memory with `ulimit -v`",
        ),
        libc::ENOMEM => Some("raise the limit for memory with `ulimit -v`, or free some"),
        libc::EFBIG => Some("raise the limit for the size of files with `ulimit -f`"),
        _ => None,
    }
}
