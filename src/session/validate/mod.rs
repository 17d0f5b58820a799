//! Checks what a path names and reports every problem. Changes nothing.

mod csar_files;
mod ensemble;
mod service;
mod target;
mod validate;

pub use ensemble::ValidationReport;
pub use validate::validate;
