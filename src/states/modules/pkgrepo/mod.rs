//! The state module `pkgrepo`: apt repositories and their signing keys (OP18, OP19).
//!
//! `entry` parses sources files, `desired` holds the arguments of a state, `states` decides.

mod desired;
mod entry;
mod states;

pub(super) use states::MODULE;
