//! The lock of an ensemble for all machines (`lfs_lock`), on a git-lfs server.

mod hold;
mod look;
mod place;
mod settings;

pub use hold::RemoteLock;
pub use look::{RemoteListed, break_remote, look_at_remote};
pub use place::{Locking, Place, Refusal};
pub use settings::{LockMode, RemoteLockSettings};
