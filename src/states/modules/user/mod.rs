//! The state module `user`: users with their groups, homes and passwords (OP23).
//!
//! `desired` compares a user with a state's arguments, `password_hash` compares passwords, `states`
//! decides.

mod desired;
mod password_hash;
mod states;

pub(super) use states::MODULE;
