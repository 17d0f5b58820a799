//! State modules: each is a table of functions.

mod accounts;
mod archive;
mod arguments;
pub(super) mod cmd;
mod cron;
pub(super) mod environ;
mod file;
mod file_change;
mod git;
mod group;
pub(super) mod module;
mod pkg;
mod pkgrepo;
mod registry;
mod service;
mod ssh_auth;
pub(super) mod test;
mod user;
mod verdict;

pub use registry::{MODULES, find};
