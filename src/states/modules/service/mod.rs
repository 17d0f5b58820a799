//! The `service` module: services run or are dead, start with the machine or do not (P25).

mod manager;
mod states;

pub(super) use states::MODULE;
