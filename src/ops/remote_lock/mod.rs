//! Locks an ensemble for all machines while a job runs (`lfs_lock`), and looks at that lock.

mod hold;
mod look;
mod place;

pub(super) use hold::{RemoteLock, take};
pub use look::RemoteListed;
pub(super) use look::{break_it, look};
