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
    LockMode, Locking, Place, Refusal, RemoteListed, RemoteLock, RemoteLockSettings, break_remote,
    look_at_remote,
};
pub use state::LockState;
pub use wait::{Wait, WaitError, acquire};
