//! An ensemble on disk: manifest, lock, journal, folders, records.

mod folders;
mod journal;
mod lock;

pub use folders::{FolderError, FolderKind, FolderPath, Folders, PlannedFile, relationship_dir};
pub use journal::{Journal, JournalError, Recovered};
pub use lock::{Acquired, Lock, LockError, LockOwner, LockState, TakenOver};
