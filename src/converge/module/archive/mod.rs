//! The `archive` module: archives are unpacked (P14).

mod extracted;
mod place;

pub(super) use extracted::MODULE;
