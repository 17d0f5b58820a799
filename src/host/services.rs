//! The services that a run over hosts needs: resolving host strings, looking up roles, and reading
//! the local machine.
//!
//! The traits keep their users (`tasks`, `fleet` and `job`) independent of inventories and
//! `ssh_config` files.

use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use super::action::Command;
use super::location::Location;
use super::location_error::LocationError;
use crate::expr::SystemContext;
use crate::value::Value;

/// A resolver of host strings to locations.
pub trait HostResolver: Debug {
    /// Returns the location of a host string. `user` applies if the string names none.
    fn locate(&self, host: &str, user: Option<&str>) -> Result<Location, LocationError>;

    /// Checks a host string without any look-up, before anything is done for other hosts.
    fn check(&self, _host: &str) -> Result<(), LocationError> {
        Ok(())
    }
}

/// The services for a run over hosts.
#[derive(Clone)]
pub struct HostServices {
    pub resolver: Rc<dyn HostResolver>,
    /// The source of roles that `tasks.yaml` does not define.
    pub roles: Rc<dyn RoleSource>,
    /// The properties of the local machine that templates may read.
    pub context: Arc<dyn SystemContext>,
}

impl Debug for HostServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostServices")
            .field("resolver", &self.resolver)
            .finish_non_exhaustive()
    }
}

/// The result of looking up a role.
#[derive(Debug, Clone, PartialEq)]
pub enum RoleLookup {
    /// The hosts in order; the list may be empty.
    Hosts(Vec<String>),
    /// A local command that prints the hosts, one per line.
    Command(Box<Command>),
    Unknown {
        /// A similar name, as a suggestion.
        hint: Option<String>,
    },
    /// The hosts cannot be determined, for this reason.
    Refused(String),
}

/// A source of roles and host data besides `tasks.yaml`, such as an inventory.
pub trait RoleSource: Debug {
    fn hosts_of(&self, role: &str) -> RoleLookup;

    /// Returns the login of a host as an inventory states it. None if no inventory has the host.
    fn host_login(&self, _host: &str) -> Option<HostLogin> {
        None
    }

    /// Returns the data of a host as a map, which templates read as `data`.
    fn host_data(&self, _host: &str) -> Option<Value> {
        None
    }
}

/// The login of a host in an inventory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostLogin {
    /// The name of the host in the inventory.
    pub name: Option<String>,
    pub user: Option<String>,
    pub port: Option<u16>,
    /// The user that commands run as, if not the one who logs in.
    pub become_user: Option<String>,
}

/// A [`RoleSource`] that knows no roles.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRoles;

impl RoleSource for NoRoles {
    fn hosts_of(&self, _role: &str) -> RoleLookup {
        RoleLookup::Unknown { hint: None }
    }
}
