//! Resolves host strings to locations, from the host string itself, the command line and
//! `ssh_config` (F1 to F7, F46 to F48, F56 to F61).
//!
//! [`LocationResolver`] is the entry. It makes no connections.

mod resolve;

pub use resolve::LocationResolver;
pub use target::Error;
pub use target::{AgentUse, DefaultKeys, LoginOptions};
pub use target::{HostTarget, TargetRoute};

mod target;
#[cfg(test)]
mod tests;
