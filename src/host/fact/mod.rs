//! Facts: questions about a machine that are answered without changing it.

mod fact;

pub(crate) use fact::read_failure_message;
pub use fact::{
    CommandSetting, Domain, Fact, FactReading, FileKind, FileStat, MAX_CONTENT_BYTES,
    MAX_PROBE_STDERR_BYTES, MAX_PROBE_STDOUT_BYTES, Probe, ProbeOutput,
};
