//! Reads, prepares and commits to git repositories; knows nothing of ensembles. What goes to a
//! network is left to the git program, which has people's credentials; only [`lfs`] goes there by
//! itself.

mod commit;
mod merge_drivers;
mod error;
mod hooks;
mod index;
pub mod lfs;
mod command;
mod commit_readiness;
mod rebase;
mod remote;
mod repository;

pub use commit::CommitOutcome;
pub use merge_drivers::{MergeDriver, MergeRule};
pub use error::Error;
pub use rebase::{MergedFile, FileVersions, merge_lines};
pub use remote::{Divergence, PushOutcome, Upstream};
pub use repository::Repository;
