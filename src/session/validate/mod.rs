//! Implements `unfurl validate`: checks an ensemble, project, service template or CSAR and reports all
//! problems. Changes nothing.

mod csar_files;
mod ensemble;
mod service;
mod target;
mod validate;

pub use ensemble::ValidationReport;
pub use validate::validate;
