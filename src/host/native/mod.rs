//! Reads facts and makes changes on this machine, in this process.

mod change;
mod command;
mod copy;
mod names;
mod read;

pub(crate) use change::apply;
pub(crate) use command::{probe_command, probed, run_command};
pub(crate) use names::Names;
pub(crate) use read::read;
