//! Checks what a path names and reports every problem. Changes nothing.

mod ensemble;
mod files;
mod service;
mod subject;
mod validate;

pub use ensemble::Checked;
pub use validate::validate;
