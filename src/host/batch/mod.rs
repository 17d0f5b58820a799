//! Facts and changes of a place that only commands reach: one script for a shell for all of them,
//! and what its output says.
//!
//! The script goes through the standard input, so that no command line shows or limits it, and is
//! run only if all of it came. The place needs a POSIX shell and the usual small programs (`stat`,
//! `find`, `sha256sum`, `mv`, `chown` and so on, those of GNU or of busybox), and nothing else.

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
