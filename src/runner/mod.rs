//! Performs effects on this machine.

mod local;
mod perform;
mod program;
mod redact;

pub use local::{Error, Limits, Local, OutputSink};
