//! The state module `ssh_auth`: public keys that may log in as a user.
//!
//! `authorized_keys` reads and writes the file, `keys` parses its lines, `states` decides.

mod authorized_keys;
mod keys;
mod states;

pub(super) use states::MODULE;
