//! The `pkgrepo` module: where packages come from (P18).

mod absent;
mod desired;
mod entry;
mod files;
mod functions;
mod key;
mod managed;

pub(super) use functions::MODULE;
