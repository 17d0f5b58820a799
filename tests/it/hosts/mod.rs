//! Hosts: a real server on addresses of this machine, reached as any host is.

mod keys;
mod login;
pub(crate) mod sshd;
mod transport;
