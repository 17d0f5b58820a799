//! The model of an inventory: hosts, groups, and the precedence of their data.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::error::InventoryProblem;
use super::range::MAX_HOSTS;
use crate::host::ChainSpec;
use crate::value::{Fold, Map, Value};

/// The built-in group of all hosts.
pub(super) const ALL: &str = "all";
/// The built-in group of the hosts that belong to no other group. Only the role of this name uses
/// it.
pub(super) const UNGROUPED: &str = "ungrouped";

/// Hosts with their data, and groups, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    pub(super) hosts: IndexMap<Arc<str>, InventoryHost, Fold>,
    pub(super) groups: IndexMap<Arc<str>, HostGroup, Fold>,
    /// The executors that the file configures.
    pub executors: Option<ChainSpec>,
}

/// A host with its own data.
#[derive(Debug, Clone, Default)]
pub(super) struct InventoryHost {
    pub(super) data: Map,
    /// The variables from `host_vars/`, which win over all others.
    pub(super) file_data: Map,
    /// The indices of the groups that list the host.
    pub(super) groups: Vec<usize>,
}

/// A group of hosts with its data. Hosts and groups are referred to by index.
#[derive(Debug, Clone, Default)]
pub(super) struct HostGroup {
    pub(super) data: Map,
    /// The variables from `group_vars/`, which win over those of the inventory files.
    pub(super) file_data: Map,
    pub(super) hosts: Vec<usize>,
    /// The items of `hosts`, to find duplicates fast.
    host_set: HashSet<usize, Fold>,
    pub(super) children: Vec<usize>,
    /// The items of `children`, to find duplicates fast.
    child_set: HashSet<usize, Fold>,
    pub(super) parents: Vec<usize>,
    pub(super) members: GroupMembers,
    /// The length of the longest chain of parent groups; 0 without parents.
    depth: usize,
    /// True if a file names the group as a child of `all`, beside other parents.
    is_below_all: bool,
}

/// The source of a group's hosts.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum GroupMembers {
    /// The inventory file lists the hosts.
    #[default]
    Listed,
    /// A command prints the hosts, one host string per line. It runs when the role is used (F9).
    Command(String),
    /// An expression gives the hosts when the role is used.
    Expression(Value),
}

impl Inventory {
    /// Adds a host, or adds data to an existing one. New values replace old ones.
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

    /// Adds a group, or adds data to an existing one. New values replace old ones.
    pub fn add_group(&mut self, name: impl Into<Arc<str>>, data: Map) {
        let group = self.groups.entry(name.into()).or_default();
        group.data.extend(data);
    }

    /// Adds variables from a file below `group_vars/`. Does nothing if the group does not exist.
    pub(super) fn add_group_file(&mut self, name: &str, data: Map) {
        match self.groups.get_mut(name) {
            Some(group) => group.file_data.extend(data),
            // These two groups exist in every inventory.
            None if name == ALL || name == UNGROUPED => {
                self.add_group(name, Map::new());
                self.add_group_file(name, data);
            }
            None => {}
        }
    }

    /// Adds variables from a file below `host_vars/`. Does nothing if the host does not exist.
    pub(super) fn add_host_file(&mut self, name: &str, data: Map) {
        if let Some(host) = self.hosts.get_mut(name) {
            host.file_data.extend(data);
        }
    }

    /// Sets the source of a group's hosts. Adds the group if it does not exist.
    pub fn set_members(&mut self, group: &str, members: GroupMembers) {
        let index = self.group_index(group);
        self.groups[index].members = members;
    }

    /// Puts a host into a group. Adds either if it does not exist.
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
        // The members of the built-in groups are implied.
        if !is_built_in && self.groups[group].host_set.insert(entry) {
            self.groups[group].hosts.push(entry);
            self.hosts[entry].groups.push(group);
        }
    }

    /// Puts a group below another one. Adds either if it does not exist.
    ///
    /// Fails if this makes a group its own descendant.
    pub fn add_child_group(&mut self, child: &str, parent: &str) -> Result<(), InventoryProblem> {
        let (child, parent) = (self.group_index(child), self.group_index(parent));
        let is_under_all = self.groups.get_index_of(ALL) == Some(parent);
        // Every group is below `all` implicitly. Recording it would give the group more depth, and
        // so more weight.
        if is_under_all {
            self.groups[child].is_below_all = true;
        }
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

    /// Returns a group and its descendants, each once, in depth-first order.
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

    /// Merges another inventory, whose data wins over that of this one.
    pub fn extend(&mut self, other: &Self) -> Result<(), InventoryProblem> {
        for (name, host) in &other.hosts {
            self.add_host(Arc::clone(name), host.data.clone())?;
            self.add_host_file(name, host.file_data.clone());
        }
        for (name, group) in &other.groups {
            self.add_group(Arc::clone(name), group.data.clone());
            self.add_group_file(name, group.file_data.clone());
            let index = self.group_index(name);
            self.groups[index].is_below_all |= group.is_below_all;
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

    /// Returns the names of all hosts, in the order of the file.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.hosts.keys()
    }

    /// Returns the names of all roles, in the order of the file. No command is run for them.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<str>> {
        let is_built_in = |name: &Arc<str>| &**name == ALL || &**name == UNGROUPED;
        self.groups.keys().filter(move |name| !is_built_in(name))
    }

    /// Returns the first host or group whose data contain a password as plain text of the file.
    pub(super) fn with_open_password(&self, file: &str) -> Option<&Arc<str>> {
        let hosts = self.hosts.iter().map(|(name, host)| (name, &host.data));
        let groups = self.groups.iter().map(|(name, group)| (name, &group.data));
        let mut all = hosts.chain(groups);
        all.find(|(_, data)| has_open_password(data, file))
            .map(|(name, _)| name)
    }

    pub fn has_host(&self, name: &str) -> bool {
        self.hosts.contains_key(name)
    }

    /// Returns the merged data of a host: of all hosts, of its groups from outermost to innermost,
    /// and its own.
    ///
    /// Later values win. Groups of the same depth are ordered by `ansible_group_priority`, then by
    /// name.
    pub fn data(&self, host: &str) -> Map {
        let mut data = Map::new();
        let groups = self.groups_by_weight(host);
        for group in &groups {
            data.extend(self.groups[*group].data.clone());
        }
        data.shift_remove(PRIORITY);
        // All files below `group_vars/` come after all groups of the inventory files, as in Ansible.
        for group in groups {
            data.extend(self.groups[group].file_data.clone());
        }
        if let Some(host) = self.hosts.get(host) {
            data.extend(host.data.clone());
            data.extend(host.file_data.clone());
        }
        data
    }

    /// Returns the indices of the groups in the order of the file, without the two built-in ones.
    fn plain_groups(&self) -> impl Iterator<Item = (usize, &Arc<str>, &HostGroup)> {
        let groups = self.groups.iter().enumerate();
        let groups = groups.map(|(index, (name, group))| (index, name, group));
        groups.filter(|(_, name, _)| &***name != ALL && &***name != UNGROUPED)
    }

    /// Returns the names of the groups of a group: `all` has those without a parent.
    pub fn children_of(&self, group: &str) -> Vec<&Arc<str>> {
        let all = self.plain_groups();
        if group == ALL {
            let tops = all.filter(|(_, _, group)| group.parents.is_empty() || group.is_below_all);
            return tops.map(|(_, name, _)| name).collect();
        }
        let children = self.groups.get(group).map(|group| &group.children);
        let name = |index: &usize| self.groups.get_index(*index).map(|(name, _)| name);
        children.into_iter().flatten().filter_map(name).collect()
    }

    /// Returns the names of the hosts that a group lists itself; `ungrouped` has those without a group.
    pub fn own_hosts_of(&self, group: &str) -> Vec<&Arc<str>> {
        if group == UNGROUPED {
            let alone = self.hosts.iter().filter(|(_, host)| host.groups.is_empty());
            return alone.map(|(name, _)| name).collect();
        }
        let hosts = self.groups.get(group).map(|group| &group.hosts);
        let name = |index: &usize| self.hosts.get_index(*index).map(|(name, _)| name);
        hosts.into_iter().flatten().filter_map(name).collect()
    }

    /// Returns the names of all groups of a host, from the outermost to the innermost.
    pub fn groups_of(&self, host: &str) -> Vec<&Arc<str>> {
        let name = |index: usize| self.groups.get_index(index).map(|(name, _)| name);
        let groups = self.groups_by_weight(host).into_iter().filter_map(name);
        groups
            .filter(|name| &***name != ALL && &***name != UNGROUPED)
            .collect()
    }

    /// Returns the indices of a host's groups in increasing precedence.
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

/// The variables with passwords for the login and for other users.
const PASSWORD_VARIABLES: [&str; 7] = [
    "ansible_password",
    "ansible_ssh_password",
    "ansible_ssh_pass",
    "ansible_become_password",
    "ansible_become_pass",
    "ansible_ssh_private_key_passphrase",
    "ansible_private_key_passphrase",
];

/// The parts of names by which variables with secrets are known.
const SECRET_WORDS: [&str; 6] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "private_key",
];

/// Returns true if the name of a variable says that it has a secret, whatever its value looks like.
pub fn is_secret_variable(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_place = ["_file", "_path", "_dir"]
        .iter()
        .any(|end| name.ends_with(end));
    !is_place && (name.ends_with("_pass") || SECRET_WORDS.iter().any(|word| name.contains(word)))
}

/// Returns true if variables contain a password as plain text of the file.
pub(super) fn has_open_password(data: &Map, file: &str) -> bool {
    let is_plain = |value: &Value| {
        let is_encrypted = |text: &str| value.has_sensitive() && !file.contains(text);
        let text = value.reveal().as_str();
        text.is_some_and(|text| !text.is_empty() && !text.contains("{{") && !is_encrypted(text))
    };
    let mut values = PASSWORD_VARIABLES.iter().filter_map(|name| data.get(*name));
    values.any(is_plain)
}

/// The variable that orders groups of the same depth.
const PRIORITY: &str = "ansible_group_priority";
