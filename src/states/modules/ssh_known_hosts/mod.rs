//! The state module `ssh_known_hosts`: keys of SSH servers that a machine or a user trusts.
//!
//! `entries` reads lines of a `known_hosts` file; `states` has the state functions. The program `ssh-keygen`
//! finds the lines of a host, because names may be hashed.

mod entries;
mod states;

pub(super) use states::MODULE;
