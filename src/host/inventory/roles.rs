//! Roles: the names of groups, looked up when they are used.

use std::collections::HashSet;
use std::sync::Arc;

use super::error::RoleError;
use super::model::{ALL, GroupMembers, Inventory, UNGROUPED};
use crate::text::did_you_mean;
use crate::value::{Fold, Map, Value};

/// What a role is.
#[derive(Debug, Clone, PartialEq)]
pub enum InventoryRole {
    /// These hosts.
    Hosts(Vec<Arc<str>>),
    /// These hosts, with data of the role (F10).
    Mapping {
        /// The hosts.
        hosts: Vec<Arc<str>>,
        /// The data.
        data: Map,
    },
    /// What this command prints, a host string in each line; to be run when the role is used (F9).
    Command(String),
    /// What this expression gives; to be evaluated when the role is used.
    Expression(Value),
}

impl InventoryRole {
    /// The hosts, where they are known without asking.
    pub fn hosts(&self) -> Option<&[Arc<str>]> {
        match self {
            Self::Hosts(hosts) | Self::Mapping { hosts, .. } => Some(hosts),
            Self::Command(_) | Self::Expression(_) => None,
        }
    }
}

impl Inventory {
    /// What a role is: the hosts of its group and of those below it, each once, in the order in
    /// which they were written (F8, F11). `all` and `ungrouped` are roles of every inventory.
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
        match self.groups.get(role) {
            Some(group) if !group.data.is_empty() => InventoryRole::Mapping {
                hosts,
                data: group.data.clone(),
            },
            _ => InventoryRole::Hosts(hosts),
        }
    }
}
