//! The `pkgrepo` module: where packages come from (P18).

mod desired;
mod entry;
mod states;

pub(super) use states::MODULE;
