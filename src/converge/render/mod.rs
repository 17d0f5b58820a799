//! Renders state files and templates: Jinja, then YAML, with Salt's words and functions (S11).

mod call;
mod filters;
mod functions;
mod machine;
mod merge;
mod nowhere;
mod renderer;
mod sls;
mod trace;

pub use renderer::{Machine, Renderer};

pub(super) use merge::looked_up;
pub(super) use renderer::Fault;
pub(super) use sls::SlsName;
pub(super) use trace::traced;
