//! Facts and changes for a location that only commands reach: one shell script for all of them, and
//! the parser of its output.
//!
//! The script goes through stdin, so that it is neither visible on nor limited by the command line,
//! and it runs only if it arrived completely. The location needs a POSIX shell and the usual small
//! programs (`stat`, `find`, `sha256sum`, `mv`, `chown` and so on, from GNU or busybox), and
//! nothing else.
//!
//! [`command()`] makes the command, [`result`] parses its output.

mod change_script;
mod command;
mod command_script;
mod frames;
mod prelude;
mod read_script;
mod shell_words;

pub(super) use command::{command, result};
pub(crate) use command_script::command_script;
pub(super) use command_script::{folder, is_name};

#[cfg(test)]
mod tests;
