//! Converts service templates written in Python to YAML, with the user's own Python interpreter.
//!
//! Such a file is a program, so it runs only if the user permits `python`. It runs in a separate process,
//! with a time limit, with few environment variables, and without network if the system supports that. The
//! result is cached, so that an unchanged file runs only once. [`PythonConverter`] is the entry.

mod cache;
mod converter;
mod converter_output;
mod failure_report;
mod interpreters;
mod sandbox;
mod without_statements;

pub(super) use converter::{ConvertedTemplate, PythonConverter};
pub(super) use failure_report::failure_report;
pub use sandbox::{PythonSandbox, last_line};
