//! Hosts and groups, and which data of which group a host has.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::error::InventoryProblem;
use super::range::MAX_HOSTS;
use crate::value::{Fold, Map, Value};

/// The group that all hosts are in.
pub(super) const ALL: &str = "all";
/// The group of hosts that are in no other, which only the name of a role tells.
pub(super) const UNGROUPED: &str = "ungrouped";

/// Hosts with their data, and groups of them, in the order in which they were written.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    pub(super) hosts: IndexMap<Arc<str>, InventoryHost, Fold>,
    pub(super) groups: IndexMap<Arc<str>, HostGroup, Fold>,
}

/// One host.
#[derive(Debug, Clone, Default)]
pub(super) struct InventoryHost {
    pub(super) data: Map,
    /// The groups that name it.
    pub(super) groups: Vec<usize>,
}

/// One group.
#[derive(Debug, Clone, Default)]
pub(super) struct HostGroup {
    pub(super) data: Map,
    pub(super) hosts: Vec<usize>,
    /// Those of `hosts`, so that none is added twice.
    host_set: HashSet<usize, Fold>,
    pub(super) children: Vec<usize>,
    /// Those of `children`.
    child_set: HashSet<usize, Fold>,
    pub(super) parents: Vec<usize>,
    pub(super) members: GroupMembers,
    /// How many groups are above it at most; none before that is known.
    depth: usize,
}

/// Where the hosts of a group come from.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum GroupMembers {
    /// They are listed.
    #[default]
    Listed,
    /// A command prints them, a host string in each line. It is run when the role is used (F9).
    Command(String),
    /// An expression gives them when the role is used.
    Expression(Value),
}

impl Inventory {
    /// Adds a host, or data to one that is there; what is new goes before what was there.
    pub fn add_host(
        &mut self,
        name: impl Into<Arc<str>>,
        data: Map,
    ) -> Result<(), InventoryProblem> {
        let host = self.hosts.entry(name.into()).or_default();
        host.data.extend(data);
        if self.hosts.len() > MAX_HOSTS {
            return Err(InventoryProblem::TooMany(MAX_HOSTS));
        }
        Ok(())
    }

    /// Adds a group, or data to one that is there.
    pub fn add_group(&mut self, name: impl Into<Arc<str>>, data: Map) {
        let group = self.groups.entry(name.into()).or_default();
        group.data.extend(data);
    }

    /// Says where the hosts of a group come from. The group is added if it is not there.
    pub fn set_members(&mut self, group: &str, members: GroupMembers) {
        let index = self.group_index(group);
        self.groups[index].members = members;
    }

    /// Puts a host into a group; both are added if they are not there.
    pub fn add_to_group(&mut self, host: &str, group: &str) {
        let is_built_in = group == ALL || group == UNGROUPED;
        let group = self.group_index(group);
        let entry = match self.hosts.get_index_of(host) {
            Some(index) => index,
            None => {
                self.hosts
                    .insert_full(host.into(), InventoryHost::default())
                    .0
            }
        };
        // Which hosts these two have is known without saying it.
        if !is_built_in && self.groups[group].host_set.insert(entry) {
            self.groups[group].hosts.push(entry);
            self.hosts[entry].groups.push(group);
        }
    }

    /// Puts a group below another; both are added if they are not there.
    pub fn add_child_group(&mut self, child: &str, parent: &str) -> Result<(), InventoryProblem> {
        let (child, parent) = (self.group_index(child), self.group_index(parent));
        let is_under_all = self.groups.get_index_of(ALL) == Some(parent);
        // Every group is below that of all hosts; saying so would make it count more than others.
        if is_under_all || self.groups[parent].child_set.contains(&child) {
            return Ok(());
        }
        if self.with_descendants(child).contains(&parent) {
            let (name, _) = self.groups.get_index(child).expect("it was just found");
            return Err(InventoryProblem::Cycle(Arc::clone(name)));
        }
        self.groups[parent].child_set.insert(child);
        self.groups[parent].children.push(child);
        self.groups[child].parents.push(parent);
        let mut open = vec![child];
        while let Some(index) = open.pop() {
            let parents = self.groups[index].parents.iter();
            let deepest = parents.map(|parent| self.groups[*parent].depth).max();
            let depth = deepest.unwrap_or(0) + 1;
            if depth > self.groups[index].depth {
                self.groups[index].depth = depth;
                open.extend(&self.groups[index].children);
            }
        }
        Ok(())
    }

    fn group_index(&mut self, name: &str) -> usize {
        match self.groups.get_index_of(name) {
            Some(index) => index,
            None => self.groups.insert_full(name.into(), HostGroup::default()).0,
        }
    }

    /// A group and all below it, each once, parents before children where there is one way.
    pub(super) fn with_descendants(&self, group: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut known: HashSet<usize, Fold> = HashSet::default();
        let mut open = vec![group];
        while let Some(next) = open.pop() {
            if known.insert(next) {
                found.push(next);
                open.extend(self.groups[next].children.iter().rev());
            }
        }
        found
    }

    /// Adds all of another inventory; what that says of a host or group goes before what this says.
    pub fn extend(&mut self, other: &Self) -> Result<(), InventoryProblem> {
        for (name, host) in &other.hosts {
            self.add_host(Arc::clone(name), host.data.clone())?;
        }
        for (name, group) in &other.groups {
            self.add_group(Arc::clone(name), group.data.clone());
            if group.members != GroupMembers::Listed {
                self.set_members(name, group.members.clone());
            }
            for host in &group.hosts {
                let (host, _) = other.hosts.get_index(*host).expect("indices are its own");
                self.add_to_group(host, name);
            }
        }
        for (name, group) in &other.groups {
            for child in &group.children {
                let (child, _) = other.groups.get_index(*child).expect("indices are its own");
                self.add_child_group(child, name)?;
            }
        }
        Ok(())
    }

    /// The names of all hosts, in the order in which they were written.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.hosts.keys()
    }

    /// The names of all roles, in the order in which they were written. No command is run for them.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<str>> {
        let is_built_in = |name: &Arc<str>| &**name == ALL || &**name == UNGROUPED;
        self.groups.keys().filter(move |name| !is_built_in(name))
    }

    /// Whether there is a host of this name.
    pub fn has_host(&self, name: &str) -> bool {
        self.hosts.contains_key(name)
    }

    /// The data of a host: that of all hosts, that of its groups from the outermost to the
    /// innermost, its own; a later one goes before an earlier one. Groups of one depth count by
    /// `ansible_group_priority`, then by name.
    pub fn data(&self, host: &str) -> Map {
        let mut data = Map::new();
        for group in self.groups_by_weight(host) {
            data.extend(self.groups[group].data.clone());
        }
        data.shift_remove(PRIORITY);
        if let Some(host) = self.hosts.get(host) {
            data.extend(host.data.clone());
        }
        data
    }

    /// The groups that a host is in, those that count less first.
    fn groups_by_weight(&self, host: &str) -> Vec<usize> {
        let Some(host) = self.hosts.get(host) else {
            return Vec::new();
        };
        let mut known: HashSet<usize, Fold> = HashSet::default();
        let mut open = host.groups.clone();
        if open.is_empty() {
            open.extend(self.groups.get_index_of(UNGROUPED));
        }
        open.extend(self.groups.get_index_of(ALL));
        let mut found = Vec::new();
        while let Some(group) = open.pop() {
            if known.insert(group) {
                found.push(group);
                open.extend(&self.groups[group].parents);
            }
        }
        found.sort_by_cached_key(|index| {
            let (name, group) = self.groups.get_index(*index).expect("it was found here");
            let priority = group
                .data
                .get(PRIORITY)
                .and_then(Value::as_int)
                .unwrap_or(1);
            let is_all = &**name == ALL;
            (!is_all, group.depth, priority, Arc::clone(name))
        });
        found
    }
}

/// The variable that says which of two groups of one depth counts more.
const PRIORITY: &str = "ansible_group_priority";
