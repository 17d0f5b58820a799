//! The `archive` module: archives are unpacked (P14).

mod extracted;
mod unpack;

pub(super) use extracted::MODULE;
