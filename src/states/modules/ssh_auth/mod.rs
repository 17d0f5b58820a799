//! The `ssh_auth` module: keys that let people in as a user.

mod authorized_keys;
mod keys;
mod states;

pub(super) use states::MODULE;
