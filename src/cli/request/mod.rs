//! The requests to use cases that commands share.

pub(super) mod hosts;
pub(super) mod job;
pub(super) mod session;
pub(super) mod states;
pub(super) mod yaml_maps;
