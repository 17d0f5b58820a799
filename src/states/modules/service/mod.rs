//! The state module `service`: running, stopped, enabled and masked services (OP25).
//!
//! `manager` knows the service managers and their commands, `states` decides.

mod manager;
mod states;

pub(super) use states::MODULE;
