//! Implements `unfurl clone`: copies projects, and creates ensembles from what a source contains.
//!
//! [`clone`] is the entry. A new folder is built beside its place and renamed, so that it appears as a whole or not at
//! all. A clone grants no trust.

mod csar;
mod fork;
mod local_config;
mod model;
mod new_ensemble;
mod report;
mod repository;
mod request;
mod run;
mod source;

pub use report::{CloneReport, ClonedThing};
pub use request::CloneOptions;
pub use run::clone;
