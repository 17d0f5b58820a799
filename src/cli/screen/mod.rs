//! Views of running work, on a terminal or in a log.

pub(super) mod hosts;
pub(super) mod job;
mod job_display;
pub(super) mod states;
pub(in crate::cli) mod views;
