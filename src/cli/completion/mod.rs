//! Completion of command lines in shells: the scripts, and the answers that the scripts ask for.

mod candidates;
mod install;
mod known_names;
mod scripts;
mod words;

pub(super) use candidates::{COMPLETE_COMMAND, answer};
pub(super) use install::install;
pub(super) use scripts::{Shell, script};
