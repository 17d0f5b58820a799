//! Reads, prepares and commits to git repositories; knows nothing of ensembles. What goes to a
//! network is left to the git program, which has people's credentials; only [`lfs`] goes there by
//! itself.

mod commit;
mod drivers;
mod error;
mod hooks;
mod index;
pub mod lfs;
mod program;
mod ready;
mod rebase;
mod remote;
mod repository;

pub use commit::Committed;
pub use drivers::{MergeDriver, MergeRule};
pub use error::Error;
pub use rebase::{Merged, Versions, merge_lines};
pub use remote::{Distance, Pushed, Upstream};
pub use repository::Repository;
