//! The `ssh_auth` module: keys that let people in as a user.

mod keys;
mod authorized_keys;
mod states;

pub(super) use states::MODULE;
