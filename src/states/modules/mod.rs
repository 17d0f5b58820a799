//! State modules: Salt's modules such as `file`, `pkg` and `service`, each a table of state functions.
//!
//! A state function compares the desired state with facts about the machine and returns a decision; it
//! reads and changes nothing itself. [`find`] looks a module up by name. `verdict`, `arguments` and
//! `file_change` are shared.

mod accounts;
mod alternatives;
mod archive;
mod arguments;
pub(super) mod cmd;
mod cron;
mod debconf;
mod decision;
pub(super) mod environ;
mod file;
mod file_change;
mod git;
mod group;
mod host;
mod ini;
mod kmod;
mod locale;
pub(super) mod module;
mod mount;
mod network;
mod pip;
mod pkg;
mod pkgrepo;
mod registry;
mod service;
mod ssh_auth;
mod ssh_known_hosts;
mod stateconf;
mod sysctl;
pub(super) mod test;
mod timezone;
mod user;

pub(super) use file::normalize_path;
pub(super) use mount::FstabEntry;
pub(super) use pkg::compare_versions;
pub use registry::{MODULES, find};
