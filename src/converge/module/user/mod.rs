//! The `user` module: users, their groups, homes and passwords (P23).

mod absent;
mod create;
mod desired;
mod functions;
mod hash;
mod present;
mod steps;

pub(super) use functions::MODULE;
