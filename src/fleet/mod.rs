//! Runs over many hosts: choosing hosts, and running tasks, states and facts on them.
//!
//! The modules `tasks` and `states` of the crate decide what to do. This module joins them to the
//! driver of `exec`.

mod error;
pub mod hosts;
pub mod states;
pub mod tasks;

pub use error::{Error, ErrorKind};
