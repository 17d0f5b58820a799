//! Checks what a path names and reports every problem. Changes nothing.

mod ensemble;
mod csar_files;
mod service;
mod target;
mod validate;

pub use ensemble::ValidationReport;
pub use validate::validate;
