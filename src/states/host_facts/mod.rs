//! Facts that people ask for by name, as pyinfra names them (P.10): what is read for each, and what
//! is made of it.

mod named_fact;
mod files;
mod hardware;
mod host;
mod packages;
mod accounts;
mod system;
mod registry;

pub use named_fact::{FactQuery, FactQueryError};
pub use registry::{all, find};
