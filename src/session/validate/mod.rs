//! Checks what a path names and reports every problem. Changes nothing.

mod checked;
mod ensemble;
mod files;
mod service;
mod subject;
mod validate;

pub use checked::Checked;
pub use validate::validate;
