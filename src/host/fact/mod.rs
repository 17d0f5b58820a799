//! What can be read of a machine without changing it.

mod fact;
mod reading;

pub use fact::{Domain, Fact, MOST_COMPLAINED, MOST_CONTENT, MOST_PRINTED, Probe, Setting};
pub(crate) use reading::not_read;
pub use reading::{Entry, EntryKind, Probed, Reading};
