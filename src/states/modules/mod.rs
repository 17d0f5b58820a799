//! State modules: each is a table of functions.

mod accounts;
mod archive;
mod arguments;
pub(super) mod cmd;
mod verdict;
mod cron;
pub(super) mod environ;
mod file;
mod git;
mod group;
pub(super) mod module;
mod pkg;
mod pkgrepo;
mod service;
mod ssh_auth;
mod file_change;
mod registry;
pub(super) mod test;
mod user;

pub use registry::{MODULES, find};
