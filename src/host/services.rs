//! The parts of its surroundings that a run over hosts asks: the ways to hosts, roles, this machine.

use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use super::action::Command;
use super::location::Location;
use super::location_error::LocationError;
use crate::expr::SystemContext;
use crate::value::Value;

/// Knows how hosts are reached.
pub trait HostResolver: Debug {
    /// Where a host string leads, for a user if the string names none.
    fn locate(&self, host: &str, user: Option<&str>) -> Result<Location, LocationError>;
}

/// The surroundings of a run over hosts.
#[derive(Clone)]
pub struct HostServices {
    /// How hosts are reached.
    pub resolver: Rc<dyn HostResolver>,
    /// Roles beyond those of `tasks.yaml`.
    pub roles: Rc<dyn RoleSource>,
    /// What templates may read of this machine.
    pub context: Arc<dyn SystemContext>,
}

impl Debug for HostServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Helpers")
            .field("book", &self.resolver)
            .finish_non_exhaustive()
    }
}

/// What a role stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum RoleLookup {
    /// These hosts, in order; perhaps none.
    Hosts(Vec<String>),
    /// The lines that this command prints, run on this machine.
    Command(Box<Command>),
    /// There is no such role.
    Unknown {
        /// What may have been meant.
        hint: Option<String>,
    },
    /// Its hosts cannot be told, for this reason.
    Refused(String),
}

/// Knows roles and hosts that `tasks.yaml` does not: an inventory.
pub trait RoleSource: Debug {
    /// The hosts of a role.
    fn hosts_of(&self, role: &str) -> RoleLookup;

    /// What is known of a host, a map; templates read it as `data`.
    fn host_data(&self, _host: &str) -> Option<Value> {
        None
    }
}

/// An inventory without anything in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRoles;

impl RoleSource for NoRoles {
    fn hosts_of(&self, _role: &str) -> RoleLookup {
        RoleLookup::Unknown { hint: None }
    }
}
