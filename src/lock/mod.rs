//! Locks of ensembles: that of one machine beside the manifest, and that of all machines on a
//! git-lfs server.

mod error;
mod lock;
mod owner;
mod remote;
mod state;
mod wait;

pub use error::LockError;
pub use lock::Lock;
pub use owner::LockOwner;
pub use remote::{
    LockLocation, LockMode, RemoteLock, RemoteLockError, RemoteLockRequest, RemoteLockSettings,
    RemoteLockStatus, break_remote_lock, remote_lock_status,
};
pub use state::LockState;
pub use wait::{LockWait, WaitError, acquire};
