//! The lock of an ensemble for all machines (`lfs_lock`), on a git-lfs server.

mod guard;
mod location;
mod settings;
mod status;

pub use guard::RemoteLock;
pub use location::{LockLocation, RemoteLockError, RemoteLockRequest};
pub use settings::{LockMode, RemoteLockSettings};
pub use status::{RemoteLockStatus, break_remote_lock, remote_lock_status};
