//! Loads an ensemble: finds, reads and checks it, and makes its topology.

mod blueprint;
mod conditions;
mod decorators;
mod departed;
mod error;
mod externals;
mod found;
mod imports;
mod inputs;
mod instances;
mod loaded;
mod options;
mod orphans;
mod past;
mod reading;
mod repositories;
mod topology;
pub mod validate;
mod world;

pub(crate) use conditions::read_service;
pub use error::{LoadError, LoadErrorKind};
pub(crate) use found::{Found, current_dir, find};
pub(crate) use imports::FileImporter;
pub(crate) use loaded::Session;
pub use options::SessionOptions;
pub(crate) use orphans::topology as topology_with_orphans;
pub(crate) use reading::{directories_of_includes, load, manifest, surroundings};
pub(crate) use repositories::{Involved, involved, involved_at, involved_in, once_each};
pub(crate) use world::RealWorld;
