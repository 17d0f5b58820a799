//! Machines as inventories of Ansible describe them: the host, its variables and its groups (rule U-k, `Ansible`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::host_variables::AttributeReader;
use super::topology::Topology;
use crate::expr::{Context, Error, Evaluator, Scope as _};
use crate::value::{Handle, Map, Value};

/// The type of groups that become groups of an inventory.
const GROUP_TYPE: &str = "unfurl.groups.AnsibleInventoryGroup";

/// A machine of the model with the variables and groups that Ansible needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InventoryHost {
    /// The name in the inventory.
    pub name: String,
    /// The variables of the host. Secrets are marked.
    pub variables: Map,
    /// The groups of the host by name: a map with `hosts`, `vars` and `children` each.
    pub groups: Map,
    /// The public key of the host as written in a `known_hosts` file: its kind and its text.
    pub host_key: Option<String>,
}

/// The inventory groups that an instance belongs to.
struct GroupMembership<'a> {
    /// The name of the instance's template.
    own: Option<&'a str>,
    /// The names of the groups.
    groups: HashSet<&'a str>,
}

/// Reads the attributes that entities have. Null values count as missing.
struct KnownValues<'a> {
    topology: &'a Topology,
    evaluator: &'a Evaluator,
}

impl AttributeReader for KnownValues<'_> {
    type Error = Error;

    fn read(&mut self, of: Handle, name: &str) -> Result<Option<Value>, Error> {
        self.topology.known_value(of, name, self.evaluator)
    }
}

impl Topology {
    /// Returns the instance on whose machine a playbook runs: the operation host, the target if it is a machine, or the
    /// nearest machine that the target is hosted on. None stands for this machine.
    ///
    /// # Errors
    ///
    /// The operation names a host that does not exist. The text says so.
    pub fn playbook_host(
        &self,
        target: Handle,
        word: Option<&str>,
        evaluator: &Evaluator,
    ) -> Result<Result<Option<Handle>, String>, Error> {
        if word.is_some_and(|word| !word.is_empty()) {
            return Ok(self.operation_host(target, word));
        }
        let mut reader = KnownValues {
            topology: self,
            evaluator,
        };
        let mut next = self.get(target).and_then(|it| it.node()).map(|_| target);
        while let Some(of) = next {
            if self.is_machine(of, &mut reader)? {
                return Ok(Ok(Some(of)));
            }
            next = self.entity(of).parent;
        }
        Ok(Ok(None))
    }

    /// Returns an instance as a host of an inventory.
    pub fn inventory_host(
        &self,
        of: Handle,
        evaluator: &Evaluator,
    ) -> Result<InventoryHost, Error> {
        let mut host = InventoryHost {
            name: self.inventory_name(of, evaluator)?,
            ..InventoryHost::default()
        };
        if let Some(endpoint) = self.ansible_endpoint(of) {
            let key = self.known_value(endpoint, "host_key", evaluator)?;
            host.host_key = key.map(|key| key.reveal().to_string());
        }
        let mut reader = KnownValues {
            topology: self,
            evaluator,
        };
        host.variables = self.host_variables(of, &mut reader)?;
        if let Some(key) = host.variables.shift_remove("host_key") {
            host.host_key = Some(key.reveal().to_string());
        }
        let membership = self.inventory_groups_of(of);
        for name in self.template().groups.keys() {
            if membership.groups.contains(&**name) {
                let group = self.inventory_group(name, &host.name, &membership, evaluator)?;
                host.groups.insert(Arc::clone(name), group);
            }
        }
        Ok(host)
    }

    /// Returns the name of a machine in an inventory. Machines of Google Cloud have the name that `gcloud compute
    /// config-ssh` writes into the configuration of SSH.
    fn inventory_name(&self, of: Handle, evaluator: &Evaluator) -> Result<String, Error> {
        let name = self.entity(of).local_name().to_owned();
        let project = self.known_value(of, "project_id", evaluator)?;
        let zone = self.known_value(of, "zone", evaluator)?;
        Ok(match (project, zone) {
            (Some(project), Some(zone)) => {
                format!("{name}.{}.{}", zone.reveal(), project.reveal())
            }
            _ => name,
        })
    }

    /// Returns an attribute that an entity has. None if it lacks the attribute or the value is null.
    fn known_value(
        &self,
        of: Handle,
        name: &str,
        evaluator: &Evaluator,
    ) -> Result<Option<Value>, Error> {
        if self.attribute(of, name).is_none() {
            return Ok(None);
        }
        let value = evaluator.attribute(of, name)?;
        Ok(value.filter(|value| !value.is_null()))
    }

    /// Returns the inventory groups that have an instance as a member, by themselves or through groups in them.
    fn inventory_groups_of(&self, of: Handle) -> GroupMembership<'_> {
        let groups = &self.template().groups;
        let own = self.entity(of).node();
        let own = own.map(|node| node.template.name.as_str());
        let mut parents: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, group) in groups
            .iter()
            .filter(|(name, _)| self.is_inventory_group(name))
        {
            for member in &group.members {
                parents.entry(member).or_default().push(name);
            }
        }
        let mut found = HashSet::new();
        let mut pending: Vec<&str> = own.into_iter().collect();
        while let Some(member) = pending.pop() {
            let around = parents.get(member).into_iter().flatten();
            pending.extend(around.filter(|name| found.insert(**name)));
        }
        GroupMembership { own, groups: found }
    }

    /// Returns true if a group becomes a group of an inventory.
    pub fn is_inventory_group(&self, name: &str) -> bool {
        let types = &self.service().types;
        let group = self.template().groups.get(name);
        let name = group.map(|group| group.type_name.as_str());
        name.is_some_and(|name| name == GROUP_TYPE || types.is_derived_from(name, GROUP_TYPE))
    }

    /// Returns a group as an inventory for one host has it: its variables, the host, and the groups within it that have the
    /// host.
    fn inventory_group(
        &self,
        name: &str,
        host: &str,
        membership: &GroupMembership<'_>,
        evaluator: &Evaluator,
    ) -> Result<Value, Error> {
        let (mut hosts, mut variables, mut children) = (Map::new(), Map::new(), Map::new());
        if let Some(group) = self.template().groups.get(name) {
            if let Some(raw) = group.properties.get("hostvars") {
                let value = evaluator.evaluate(&raw.value, &Context::new(self.root()))?;
                variables = value.marked_entries().unwrap_or_default();
            }
            for member in &group.members {
                if Some(&**member) == membership.own {
                    hosts.insert(host.into(), Value::from(Map::new()));
                } else if membership.groups.contains(&**member) {
                    children.insert(Arc::clone(member), Value::from(Map::new()));
                }
            }
        }
        Ok(Value::map([
            ("hosts", Value::from(hosts)),
            ("vars", variables.into()),
            ("children", children.into()),
        ]))
    }
}
