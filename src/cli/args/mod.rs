//! Groups of options that several commands share, and the parsers of their values.

pub(super) mod format;
pub(super) mod global;
pub(super) mod host;
pub(super) mod job;
pub(super) mod passwords;
pub(super) mod replay;
pub(super) mod state;
