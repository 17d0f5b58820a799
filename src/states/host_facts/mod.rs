//! Facts that people ask for by name, as pyinfra names them (P.10): what is read for each, and what
//! is made of it.

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
