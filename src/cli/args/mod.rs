//! The options that commands share.

pub(super) mod format;
pub(super) mod global;
pub(super) mod host;
pub(super) mod job;
pub(super) mod state;
