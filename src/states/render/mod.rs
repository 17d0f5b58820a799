//! The renderer of state files and templates: Jinja, then YAML or JSON, with Salt's variables, functions and
//! filters (S11).
//!
//! [`StateRenderer`] renders for one machine. Template functions that read the machine use cached facts;
//! missing facts are returned as [`RenderError::Needs`].

mod call;
mod command_functions;
mod data_filters;
mod date_filters;
#[cfg(test)]
mod dialect_tests;
mod dig_functions;
mod entry_filters;
mod file_functions;
mod file_system_functions;
mod filters;
mod functions;
mod host_functions;
mod ip_filters;
mod ip_network;
mod library;
mod location_vars;
mod machine_functions;
mod map_merge;
mod matcher;
mod network_functions;
mod null_context;
mod pipe;
mod programs;
mod random_functions;
mod renderer;
mod sls;
mod source_map;
mod stateconf;
mod text_filters;
mod tree_functions;

pub use programs::{PythonStates, RenderPrograms};
pub use renderer::{MinionData, StateRenderer};

use ip_network::IpNetwork;

pub(super) use filters::FILTER_NAMES;
pub(super) use functions::names as function_names;
pub(super) use map_merge::value_at_path;
pub(super) use matcher::Matcher;
pub(super) use renderer::RenderError;
pub(super) use sls::SlsSource;
pub(super) use source_map::trace_to_templates;
pub(super) use stateconf::StateconfParameters;
