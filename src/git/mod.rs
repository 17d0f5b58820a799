//! Access to git repositories: status, commits, rebase, fetch and push. Knows nothing about ensembles.
//!
//! [`Repository`] is the entry point. Network operations run the git program, which has the user's
//! credentials; only [`lfs`] connects to servers itself.

mod branch_update;
mod calls;
mod checkout;
mod clone;
mod command;
mod commit;
mod commit_readiness;
mod concurrent_git;
mod create;
mod error;
mod exposed_file;
mod foreign_files;
mod foreign_tree;
mod hooks;
mod index;
mod info_files;
mod introduction;
mod isolation;
pub mod lfs;
mod local_remote;
mod local_settings;
mod lock_file;
mod merge_drivers;
mod mirror;
mod named_files;
mod objects;
mod operation;
mod own_driver;
mod rebase;
mod remote;
mod repository;
mod revision;
mod search;
mod settings;
mod special_files;
mod status;
mod transfer_locks;

pub use clone::{
    CloneRequest, Cloned, clone_repository, place_clone, refuse_filled, unfinished_clone,
};
pub use commit::CommitOutcome;
pub use error::Error;
pub use exposed_file::exposed_password_warning;
pub use merge_drivers::{MergeDriver, MergeRule};
pub use mirror::{Mirror, refuse_foreign};
pub use own_driver::own_command as own_merge_command;
pub use rebase::{FileVersions, MergedFile, RebaseRules, merge_lines};
pub use remote::{Divergence, PushOutcome, Upstream};
pub use repository::Repository;
pub use revision::Revision;
pub use search::find_repository_below;
