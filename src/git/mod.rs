//! Reads, prepares and commits to git repositories; knows nothing of ensembles. What goes to a
//! network is left to the git program, which has people's credentials; only [`lfs`] goes there by
//! itself.

mod command;
mod commit;
mod commit_readiness;
mod error;
mod hooks;
mod index;
pub mod lfs;
mod merge_drivers;
mod rebase;
mod remote;
mod repository;

pub use commit::CommitOutcome;
pub use error::Error;
pub use merge_drivers::{MergeDriver, MergeRule};
pub use rebase::{FileVersions, MergedFile, merge_lines};
pub use remote::{Divergence, PushOutcome, Upstream};
pub use repository::Repository;
