//! Facts and changes for a location that only commands reach: one shell script for all of them, and
//! the parser of its output.
//!
//! The script goes through stdin, so that it is neither visible on nor limited by the command line,
//! and it runs only if it arrived completely. The location needs a POSIX shell and the usual small
//! programs (`stat`, `find`, `sha256sum`, `mv`, `chown` and so on, from GNU or busybox), and
//! nothing else.
//!
//! [`command()`] makes the command, [`result`] parses its output. [`ShellRequest`] has the same script without its
//! functions, for a shell that stays open and has them already (`shell_server`).

mod change_script;
mod command;
mod command_script;
mod frames;
mod prelude;
mod read_script;
mod shell_server;
mod shell_words;

pub(super) use command::{MAX_OUTPUT_BYTES, command, result};
pub(crate) use command_script::command_script;
pub(super) use command_script::{folder, is_name};
pub(super) use shell_server::{ShellRequest, server_script};

#[cfg(test)]
mod tests;
