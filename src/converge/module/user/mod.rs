//! The `user` module: users, their groups, homes and passwords (P23).

mod absent;
mod create;
mod functions;
mod hash;
mod present;
mod steps;
mod wish;

pub(super) use functions::MODULE;
