//! The known hosts of a run and how to reach them.
//!
//! [`FleetHosts`] joins inventories, the instances of an ensemble and `ssh_config`. [`HostSession`]
//! is the interactive use of one host, [`EndpointLocator`] locates the hosts of jobs.

mod endpoint_locator;
mod fleet_hosts;
mod gather;
mod host_choice;
mod host_session;

pub(crate) use endpoint_locator::EndpointLocator;
pub use fleet_hosts::FleetHosts;
pub use gather::GatheredHosts;
pub(in crate::fleet) use host_choice::refused as refused_pattern;
pub use host_session::{HostSession, local_shell};
