//! Roles: named sets of hosts, which are the groups of an inventory. They are looked up when used.

use std::collections::HashSet;
use std::sync::Arc;

use super::error::RoleError;
use super::model::{ALL, GroupMembers, Inventory, UNGROUPED};
use crate::text::did_you_mean;
use crate::value::{Fold, Map, Value};

/// The definition of a role: its hosts, or the way to find them.
#[derive(Debug, Clone, PartialEq)]
pub enum InventoryRole {
    Hosts(Vec<Arc<str>>),
    /// A fixed list of hosts, with data of the role (F10).
    Mapping {
        hosts: Vec<Arc<str>>,
        data: Map,
    },
    /// A command that prints one host string per line. It runs when the role is used (F9).
    Command(String),
    /// An expression that gives the hosts. It is evaluated when the role is used.
    Expression(Value),
}

impl InventoryRole {
    /// Returns the hosts, unless a command or an expression has to find them.
    pub fn hosts(&self) -> Option<&[Arc<str>]> {
        match self {
            Self::Hosts(hosts) | Self::Mapping { hosts, .. } => Some(hosts),
            Self::Command(_) | Self::Expression(_) => None,
        }
    }
}

impl Inventory {
    /// Returns the definition of a role.
    ///
    /// The hosts are those of the group and of the groups below it, each once, in the order of the
    /// file (F8, F11). Every inventory has the roles `all` and `ungrouped`.
    pub fn hosts_of(&self, role: &str) -> Result<InventoryRole, RoleError> {
        if role == ALL {
            return Ok(self.lookup(self.hosts.keys().cloned().collect(), ALL));
        }
        if role == UNGROUPED {
            let hosts = self.hosts.iter().filter(|(_, host)| host.groups.is_empty());
            let hosts = hosts.map(|(name, _)| Arc::clone(name)).collect();
            return Ok(self.lookup(hosts, UNGROUPED));
        }
        let Some(index) = self.groups.get_index_of(role) else {
            return Err(RoleError {
                name: role.to_owned(),
                hint: did_you_mean(role, self.roles().map(AsRef::as_ref)),
            });
        };
        match &self.groups[index].members {
            GroupMembers::Command(command) => return Ok(InventoryRole::Command(command.clone())),
            GroupMembers::Expression(expression) => {
                return Ok(InventoryRole::Expression(expression.clone()));
            }
            GroupMembers::Listed => {}
        }
        let mut hosts = Vec::new();
        let mut known: HashSet<usize, Fold> = HashSet::default();
        for group in self.with_descendants(index) {
            for host in &self.groups[group].hosts {
                if known.insert(*host) {
                    hosts.extend(
                        self.hosts
                            .get_index(*host)
                            .map(|(name, _)| Arc::clone(name)),
                    );
                }
            }
        }
        Ok(self.lookup(hosts, role))
    }

    fn lookup(&self, hosts: Vec<Arc<str>>, role: &str) -> InventoryRole {
        let group = self.groups.get(role);
        let mut data = group.map_or_else(Map::new, |group| group.data.clone());
        data.extend(group.into_iter().flat_map(|group| group.file_data.clone()));
        if data.is_empty() {
            InventoryRole::Hosts(hosts)
        } else {
            InventoryRole::Mapping { hosts, data }
        }
    }
}
