//! Named facts: facts that users request by name, with the names and results of pyinfra (P16).
//!
//! [`find`] looks up a fact, which is given arguments and becomes a [`FactQuery`]: that says which raw fact
//! to read, and converts the reading to a value.

mod accounts;
mod files;
mod hardware;
mod host;
mod named_fact;
mod packages;
mod registry;
mod system;

pub use named_fact::{FactQuery, FactQueryError};
pub use registry::{all, find};
