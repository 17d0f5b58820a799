//! Runs over many hosts: which hosts there are, and tasks, states and facts on them.

mod error;
pub mod hosts;
pub mod states;
pub mod tasks;

pub use error::{Error, ErrorKind};
