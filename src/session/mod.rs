//! Loads an ensemble: finds it, reads and checks it, and builds its topology.
//!
//! [`Session`] is the loaded ensemble, used by all operations in `ops`. Nothing here runs tasks.

mod blueprint;
mod connections;
mod decorators;
mod ensemble_location;
mod error;
mod expression_writes;
mod externals;
mod given_inputs;
mod imports;
mod input_source;
mod inputs;
mod instances;
mod involved_repository;
mod literal_secrets;
mod loader;
mod local_system_context;
mod options;
mod orphan_templates;
mod orphans;
mod package_lock;
mod packages;
mod planned_inputs;
mod read_scope;
mod repositories;
mod saved_inputs;
mod secret_source;
mod secret_values;
mod service_reader;
mod session;
mod static_checks;
mod template_history;
mod tool_artifacts;
mod tool_paths;
mod topology;
mod unused_keys;
mod used_package;
pub mod validate;

pub(crate) use ensemble_location::{EnsembleLocation, current_dir, find, trust_of_folder};
pub use error::{LoadError, LoadErrorKind};
pub(crate) use expression_writes::ExpressionWrites;
pub(crate) use imports::FileImporter;
pub(crate) use involved_repository::{
    InvolvedRepository, distinct_repositories, ignored_settings, repositories_of, repository_at,
    trusts_repository_of,
};
pub(crate) use loader::{
    directories_of_includes, load, manifest, manifest_with_environment, package_targets,
};
pub(crate) use local_system_context::LocalSystem;
pub use options::{GivenVariable, SessionOptions, VarFile};
pub(crate) use orphans::topology as topology_with_orphans;
pub(crate) use packages::PackageTarget;
pub use planned_inputs::PlannedInput;
pub(crate) use repositories::involved_repositories;
pub(crate) use saved_inputs::SavedInputs;
pub(crate) use secret_source::SecretSource;
pub(crate) use secret_values::{SecretValue, secret_values};
pub(crate) use service_reader::read_service;
pub(crate) use session::Session;
pub(crate) use static_checks::static_problems;
pub(crate) use tool_artifacts::installers_of;
