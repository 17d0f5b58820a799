//! The `pkgrepo` module: where packages come from (P18).

mod absent;
mod entry;
mod files;
mod functions;
mod key;
mod managed;
mod wish;

pub(super) use functions::MODULE;
