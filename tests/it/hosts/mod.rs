//! Hosts: a real server on addresses of this machine, reached as any host is.

mod cli;
mod containers;
mod ending;
mod files;
mod login;
mod network;
mod people;
mod routes;
pub(crate) mod sshd;
mod states;
mod transport;
mod unreachable;
