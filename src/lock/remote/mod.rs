//! The remote lock of an ensemble (`lfs_lock`), held on a git-lfs server, so that jobs on different computers
//! exclude each other.

mod guard;
mod location;
mod settings;
mod status;

pub use guard::RemoteLock;
pub use location::{LockLocation, RemoteLockError, RemoteLockRequest};
pub use settings::{LockMode, RemoteLockSettings};
pub use status::{RemoteLockStatus, break_remote_lock, remote_lock_status};
