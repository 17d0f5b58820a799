//! Tests of SSH hosts. A real `sshd` on addresses of this machine acts as the hosts.

pub(crate) mod cli;
mod containers;
mod ending;
mod file_trees;
mod files;
pub(crate) mod login;
mod network;
mod open_shells;
mod passwords;
mod people;
mod raw;
mod routes;
mod ssh_options;
pub(crate) mod sshd;
mod states;
mod transfers;
mod transport;
mod unreachable;
