//! Projects and environments: finds them, merges them, and loads the files that they include.
//!
//! [`locate()`] is the entry: it finds the project, the ensemble and the environment for a path.
//! [`FileLoader`] reads YAML files with their includes. [`Trust`] decides which effects a file may have while
//! it is read.

mod clone_cache;
mod csar;
mod embedded;
mod encrypted_files;
mod environment;
mod environment_aliases;
mod environment_check;
mod environment_keys;
mod environment_merge;
mod error;
mod file_loader;
mod folder_grants;
mod grants;
mod home_grants;
mod local_clones;
mod locate;
mod open_passwords;
mod project;
mod project_reader;
mod python;
mod read_scope;
mod registry;
mod repository_lookup;
mod trust;
mod trust_entry;
mod trust_record;
mod vault_passwords;
mod web_files;

pub use clone_cache::{CacheError, CloneCache, LockedMirror, base_name};
pub use csar::Csar;
pub use environment::{DEFAULT_ENVIRONMENT, Environment, Environments};
pub use environment_keys::ENVIRONMENT_KEYS;
pub use error::Error;
pub use file_loader::FileLoader;
pub use grants::Grants;
pub use local_clones::find_clone as folder_of_clone;
pub use locate::{
    LocateRequest, LocatedEnsemble, enclosing_project, home_project_folder, locate, trust_for_file,
};
pub use open_passwords::open_passwords;
pub use project::{EnsembleEntry, MANIFEST, PROJECT_FILE, PROJECT_FOLDER, Project};
pub use project_reader::PROJECT_KEYS;
pub use python::{PythonSandbox, last_line};
pub use read_scope::{OutsideError, READ_PERMISSION, ReadScope};
pub use registry::{
    NewEntry, NewProject, Registration, RegistryError, add_environment, register_ensemble,
    register_project, unused_project_name,
};
pub use repository_lookup::{NETWORK_PERMISSION, PackageUse, fetch_help};
pub use trust::Trust;
pub use trust_entry::TrustEntry;
pub use trust_record::{
    StoreError, TrustReason, TrustRecord, TrustStore, origin_of, record_cloned, record_created,
};
pub use vault_passwords::{FolderKeys, keys_of_environment, keys_of_folder};
