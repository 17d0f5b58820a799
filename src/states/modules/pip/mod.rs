//! The state module `pip`: Python packages, of the system or of a virtual environment.
//!
//! `requirement` and `version` parse the names of packages, `environment` finds the program and lists the
//! packages, `command` builds its options, and `states` and `install` have the state functions.

mod command;
mod environment;
mod functions;
mod install;
mod requirement;
mod states;
mod version;

pub(super) use functions::MODULE;
