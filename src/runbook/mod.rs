//! Named tasks over hosts: host lists, order, failure; a command over hosts is a task without a
//! name.
//!
//! A pure state machine: it says what is to be performed where, and is told what came of it.

mod event;
mod max_fail;

pub use event::{Event, HostEnd, HostOutcome, TaskName};
pub use max_fail::{MaxFail, NoMaxFail};
