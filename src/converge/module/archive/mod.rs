//! The `archive` module: archives are unpacked (P14).

mod extracted;
mod functions;
mod place;
mod source;

pub(super) use functions::MODULE;
