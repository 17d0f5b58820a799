//! The `ssh_auth` module: keys that let people in as a user.

mod absent;
mod functions;
mod keys;
mod manage;
mod place;
mod present;
mod wanted;

pub(super) use functions::MODULE;
