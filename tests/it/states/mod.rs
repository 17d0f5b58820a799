//! The state modules on a real machine, compared with Salt's results.

mod environments;
mod files;
mod local_executor;
mod reference;
mod renderers;
