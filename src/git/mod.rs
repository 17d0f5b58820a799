//! Access to git repositories: status, commits, rebase, fetch and push. Knows nothing about ensembles.
//!
//! [`Repository`] is the entry point. Network operations run the git program, which has the user's
//! credentials; only [`lfs`] connects to servers itself.

mod command;
mod commit;
mod commit_readiness;
mod error;
mod exposed_file;
mod hooks;
mod index;
pub mod lfs;
mod merge_drivers;
mod rebase;
mod remote;
mod repository;

pub use commit::CommitOutcome;
pub use error::Error;
pub use exposed_file::exposed_password_warning;
pub use merge_drivers::{MergeDriver, MergeRule};
pub use rebase::{FileVersions, MergedFile, merge_lines};
pub use remote::{Divergence, PushOutcome, Upstream};
pub use repository::Repository;
