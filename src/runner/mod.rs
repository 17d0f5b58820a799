//! Performs effects on this machine.

mod local;
mod perform;
mod program;

pub use local::{Error, Limits, Local, OutputSink};
