//! Reads facts and makes changes on this machine, in this process.

mod accounts;
mod change;
mod command;
mod copy;
mod read;

pub(crate) use accounts::AccountNames;
pub(crate) use change::apply;
pub(crate) use command::{probe_command, probe_output, run_command};
pub(crate) use read::read;
