//! The hosts that can be named, and the ways to them.

mod gathered;
mod known;
mod machines;
mod visit;

pub use gathered::Hosts;
pub use known::KnownHosts;
pub(crate) use machines::Machines;
pub use visit::HostVisit;
