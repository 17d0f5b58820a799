//! From host strings to places: what was written, what the command line sets and what
//! `ssh_config` says, put together (spec/hosts.md F1 to F7, F46 to F48, F56 to F61).
//!
//! Connects to nothing.

mod resolve;

pub use resolve::LocationResolver;
pub use target::Error;
pub use target::{AgentUse, DefaultKeys, LoginOptions};
pub use target::{HostTarget, TargetRoute};

mod target;
#[cfg(test)]
mod tests;
