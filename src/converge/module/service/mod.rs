//! The `service` module: services run or are dead, start with the machine or do not (P25).

mod enabled;
mod functions;
mod masked;
mod running;
mod watch;
mod way;

pub(super) use functions::MODULE;
