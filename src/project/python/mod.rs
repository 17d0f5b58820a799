//! Service templates written in Python: the user's own Python converts them to YAML.
//!
//! Such a file is a program, so nothing of it runs unless the user permits `python`. It runs in a
//! process of its own, without network where the system can do that, with little of the
//! environment, and not for long. What came of it is kept, so that an unchanged file runs once.

mod cache;
mod converter;
mod converter_output;
mod failure_report;
mod interpreters;

pub(super) use converter::{ConvertedTemplate, PythonConverter};
pub(super) use failure_report::failure_report;
