//! The state module `git`: repositories and their settings (OP29).
//!
//! `repository` reads a local repository and its remote, `desired` holds the arguments of a state, and
//! `latest`, `update`, `bare`, `create`, `detached` and `config` decide the states.

mod bare;
mod config;
mod create;
mod desired;
mod detached;
mod functions;
mod latest;
mod repository;
mod update;

pub(super) use functions::MODULE;
