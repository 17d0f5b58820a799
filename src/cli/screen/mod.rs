//! Views of running work, on a terminal or in a log.

pub(super) mod hosts;
pub(super) mod job;
pub(super) mod states;
