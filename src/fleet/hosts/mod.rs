//! The hosts that can be named, and the ways to them.

mod gather;
mod fleet_hosts;
mod endpoint_locator;
mod host_session;

pub use gather::GatheredHosts;
pub use fleet_hosts::FleetHosts;
pub(crate) use endpoint_locator::EndpointLocator;
pub use host_session::HostSession;
