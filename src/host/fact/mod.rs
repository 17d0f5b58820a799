//! What can be read of a machine without changing it.

mod fact;

pub(crate) use fact::read_failure_message;
pub use fact::{
    Domain, FileStat, FileKind, Fact, MAX_PROBE_STDERR_BYTES, MAX_CONTENT_BYTES, MAX_PROBE_STDOUT_BYTES, Probe, ProbeOutput,
    FactReading, CommandSetting,
};
