//! Finds and merges projects and their environments; loads included files.

mod clones;
mod csar;
mod embedded;
mod environment;
mod error;
mod loader;
mod locate;
mod merge;
mod project;
mod python;
mod reader;
mod trust;

pub use clones::folder_of as folder_of_clone;
pub use csar::Csar;
pub use environment::{Environment, Environments};
pub use error::Error;
pub use loader::FileLoader;
pub use locate::{Located, Request, locate, trust};
pub use project::{EnsembleEntry, MANIFEST, PROJECT_FILE, PROJECT_FOLDER, Project};
pub use reader::{ENVIRONMENT_KEYS, PROJECT_KEYS};
pub use trust::{Trust, Trusted};
