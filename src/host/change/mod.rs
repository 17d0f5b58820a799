//! What can be changed on a machine.

mod change;
mod shell_command;

pub(crate) use change::describe_change;
pub use change::{Change, CommandRun, FileWrite, ModeAndOwner};
