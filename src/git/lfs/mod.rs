//! Locks of git-lfs: asks the server of a repository for one, finds out who holds it, gives it
//! back. Speaks the HTTP API and the protocol of `git-lfs-transfer` over SSH. Knows nothing of
//! ensembles, and never asks at the terminal.

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
pub use lock::{LfsLock, LockOutcome};
pub use response::count_locks;
