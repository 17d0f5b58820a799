//! The requests to use cases that commands share.

pub(super) mod states;
