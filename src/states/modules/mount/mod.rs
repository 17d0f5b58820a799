//! The state module `mount`: mounted file systems, swap space, and the entries of `/etc/fstab`.
//!
//! `active` reads what is mounted, `fstab` edits the file, `options` compares options, `mounted` and `states`
//! have the state functions.

mod active;
mod fstab;
mod functions;
mod mounted;
mod options;
mod states;

pub(in crate::states) use fstab::FstabEntry;
pub(super) use functions::MODULE;
