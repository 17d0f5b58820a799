//! Builders of the requests to use cases, shared by commands.

pub(super) mod drift;
pub(super) mod given_values;
pub(super) mod hosts;
pub(super) mod job;
pub(super) mod session;
pub(super) mod state_roots;
pub(super) mod states;
pub(super) mod yaml_maps;
