//! What can be read of a machine without changing it.

mod fact;

pub(crate) use fact::not_read;
pub use fact::{
    Domain, Entry, EntryKind, Fact, MOST_COMPLAINED, MOST_CONTENT, MOST_PRINTED, Probe, Probed,
    Reading, Setting,
};
