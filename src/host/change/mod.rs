//! Changes to a machine, and the commands that show them in a dry run.

mod change;
mod shell_command;

pub use change::{Change, CommandRun, FileWrite, ModeAndOwner};
pub(crate) use change::{describe_change, may_begin_with};
