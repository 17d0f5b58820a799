//! Finds and merges projects and their environments; loads included files.

mod local_clones;
mod csar;
mod embedded;
mod environment;
mod error;
mod file_loader;
mod locate;
mod environment_merge;
mod project;
mod python;
mod project_reader;
mod trust;

pub use local_clones::find_clone as folder_of_clone;
pub use csar::Csar;
pub use environment::{Environment, Environments};
pub use error::Error;
pub use file_loader::FileLoader;
pub use locate::{LocatedEnsemble, LocateRequest, locate, trust_for_file};
pub use project::{EnsembleEntry, MANIFEST, PROJECT_FILE, PROJECT_FOLDER, Project};
pub use project_reader::{ENVIRONMENT_KEYS, PROJECT_KEYS};
pub use trust::{Trust, TrustEntry};
