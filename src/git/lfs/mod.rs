//! A client for git-lfs file locks: creates locks, lists them and releases them.
//!
//! [`Client`] is the entry point. It uses the HTTP API or `git-lfs-transfer` over SSH. The module knows
//! nothing about ensembles and never prompts on the terminal.

mod authenticate;
mod client;
mod credentials;
mod endpoint;
mod error;
mod http_api;
mod lock;
mod pkt_line;
mod response;
mod settings;
mod ssh;

pub use client::{Client, ReleaseOutcome};
pub use endpoint::check_url;
pub use error::Error;
pub use lock::{FoundLock, LfsLock, LockOutcome};
pub use response::count_locks;
