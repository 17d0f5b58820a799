//! Locks of ensembles: that of one machine beside the manifest, and that of all machines on a
//! git-lfs server.

mod lock;
mod remote;

pub use lock::{Acquired, Lock, LockError, LockOwner, LockState, TakenOver};
pub use remote::{LockMode, LockNameParts, RemoteLockSettings};
