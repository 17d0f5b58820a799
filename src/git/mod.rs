//! Reads and prepares git repositories; knows nothing of ensembles. Goes to no network.

mod error;
mod past;
mod repository;

pub use error::Error;
pub use repository::{PathState, Repository};
