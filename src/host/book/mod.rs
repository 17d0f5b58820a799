//! From host strings to places: what was written, what the command line sets and what
//! `ssh_config` says, put together (spec/hosts.md F1 to F7, F46 to F48, F56 to F61).
//!
//! Connects to nothing.

mod error;
mod login;
mod resolve;
mod target;

pub use error::Error;
pub use login::{Agent, DefaultKeys, Login};
pub use resolve::Book;
pub use target::{Target, Via};

#[cfg(test)]
mod tests;
