//! Reads facts and makes changes on the local machine, within this process.
//!
//! Results are the same as those of the shell scripts in `batch`, which tests compare.

mod accounts;
mod change;
mod command;
mod copy;
mod read;

pub(crate) use accounts::AccountNames;
pub(crate) use change::apply;
pub(crate) use command::{probe_command, probe_output, run_command};
pub(crate) use read::FactReader;
