//! The state modules on a real machine, compared with Salt's results.

mod environments;
mod file_system;
mod files;
mod local_executor;
mod reference;
mod renderers;
mod signatures;
mod template_functions;
