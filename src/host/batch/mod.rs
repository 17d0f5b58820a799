//! Facts and changes of a place that only commands reach: one script for a shell for all of them,
//! and what its output says.
//!
//! The script goes through the standard input, so that no command line shows or limits it, and is
//! run only if all of it came. The place needs a POSIX shell and the usual small programs (`stat`,
//! `find`, `sha256sum`, `mv`, `chown` and so on, those of GNU or of busybox), and nothing else.

mod changes;
mod command;
mod driver;
mod frames;
mod inner;
mod reads;
mod words;

pub(super) use command::{command, result};
pub(crate) use inner::inner_script;
pub(super) use inner::{folder, is_name};

#[cfg(test)]
mod tests;
