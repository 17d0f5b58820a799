//! The `user` module: users, their groups, homes and passwords (P23).

mod desired;
mod password_hash;
mod states;

pub(super) use states::MODULE;
