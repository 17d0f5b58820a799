//! Locks of ensembles: a local lock beside the manifest, and a remote lock on a git-lfs server, which
//! excludes jobs on other computers.

mod error;
mod lock;
mod owner;
mod remote;
mod state;
mod wait;

pub use error::{LockError, removal_hint};
pub use lock::{AcquiredLock, Lock};
pub use owner::LockOwner;
pub use remote::{
    LockLocation, LockMode, RemoteLock, RemoteLockError, RemoteLockRequest, RemoteLockSettings,
    RemoteLockStatus, break_remote_lock, remote_lock_status,
};
pub use state::LockState;
pub use wait::{LockWait, WaitError, acquire};
