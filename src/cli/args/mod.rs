//! The options that commands share.

pub(super) mod host;
pub(super) mod job;
pub(super) mod state;
