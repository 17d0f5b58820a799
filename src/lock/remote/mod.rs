//! The lock of an ensemble for all machines (`lfs_lock`), on a git-lfs server.

mod guard;
mod status;
mod location;
mod settings;

pub use guard::RemoteLock;
pub use status::{RemoteLockStatus, break_remote_lock, remote_lock_status};
pub use location::{RemoteLockRequest, LockLocation, RemoteLockError};
pub use settings::{LockMode, RemoteLockSettings};
