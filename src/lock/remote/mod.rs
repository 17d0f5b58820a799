//! The lock of an ensemble for all machines (`lfs_lock`).

mod settings;

pub use settings::{LockMode, LockNameParts, RemoteLockSettings};
