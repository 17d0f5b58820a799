//! Locks of ensembles: that of one machine beside the manifest, and that of all machines on a
//! git-lfs server.

mod lock;
mod remote;
mod wait;

pub use lock::{Acquired, Lock, LockError, LockOwner, LockState, TakenOver};
pub use remote::{
    Held, LockMode, LockNameParts, Locking, Place, Refusal, RemoteListed, RemoteLock,
    RemoteLockSettings, break_lock, look,
};
pub use wait::{Wait, WaitError, acquire};
