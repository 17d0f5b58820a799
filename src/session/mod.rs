//! Loads an ensemble: finds, reads and checks it, and makes its topology.

mod blueprint;
mod service_reader;
mod decorators;
mod orphan_templates;
mod error;
mod externals;
mod ensemble_location;
mod imports;
mod inputs;
mod instances;
mod session;
mod options;
mod orphans;
mod template_history;
mod loader;
mod repositories;
mod topology;
pub mod validate;
mod local_system_context;

pub(crate) use service_reader::read_service;
pub use error::{LoadError, LoadErrorKind};
pub(crate) use ensemble_location::{EnsembleLocation, current_dir, find};
pub(crate) use imports::FileImporter;
pub(crate) use session::Session;
pub use options::SessionOptions;
pub(crate) use orphans::topology as topology_with_orphans;
pub(crate) use loader::{directories_of_includes, load, manifest, manifest_with_environment};
pub(crate) use repositories::{InvolvedRepository, involved_repositories, repository_at, repositories_of, distinct_repositories};
pub(crate) use local_system_context::LocalSystem;
