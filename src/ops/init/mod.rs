//! Implements `unfurl init`: creates projects and ensembles.
//!
//! [`init`] is the entry. A new folder is built beside its place and renamed, so that it appears as a whole or not
//! at all. [`create_ensemble`] adds an ensemble to an existing project.

mod age;
mod copied;
mod ensemble;
mod environments;
mod model;
mod new_project;
mod new_repository;
mod outside;
mod recipe;
mod registration;
mod report;
mod request;
mod run;
mod shared;
mod staging;
mod target;

pub use ensemble::create_ensemble;
pub use model::{EnsembleModel, NewEnsemble};
pub use new_project::{build_home, create_project};
pub use new_repository::NewRepository;
pub(super) use outside::exclude_pattern;
pub(super) use registration::{project_around, register_in};
pub use report::{InitReport, Made};
pub use request::{InitRequest, InitSource, Layout, SecretsChoice};
pub use run::init;
pub(super) use target::absolute;
