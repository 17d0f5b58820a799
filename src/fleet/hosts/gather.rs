//! Gathers the hosts that can be named: the instances of an ensemble, and the hosts of files.
//!
//! The model uses Unfurl's Ansible types: endpoints, `ConnectsTo.Ansible` relationships and
//! inventory groups become hosts, variables and groups of an inventory.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::expr::{Context, Evaluator, Memo, Scope, SystemContext};
use crate::fleet::{Error, ErrorKind};
use crate::git::exposed_password_warning;
use crate::host::inventory::{Inventory, REFUSED_PROXY_COMMAND};
use crate::topology::{ADDRESS_ATTRIBUTES, ENDPOINT_PROPERTIES, Topology};
use crate::value::{Handle, Map, Value};
use crate::yaml::TagReader;

/// The variables with arguments for `ssh`.
const SSH_ARGUMENTS: [&str; 2] = ["ansible_ssh_common_args", "ansible_ssh_extra_args"];

/// The gathered hosts with their groups, and warnings about them.
#[derive(Debug, Default)]
pub struct GatheredHosts {
    pub inventory: Inventory,
    /// Warnings about values that could not be used.
    pub warnings: Diagnostics,
    /// The texts that the warnings refer to.
    pub sources: Sources,
    /// The evaluator for roles that are expressions. None without an ensemble.
    pub expressions: Option<RoleExpressions>,
}

/// Evaluates inventory roles that are expressions, in the context of the ensemble.
pub struct RoleExpressions {
    evaluator: Evaluator,
    topology: Arc<Topology>,
}

impl std::fmt::Debug for RoleExpressions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoleExpressions").finish_non_exhaustive()
    }
}

impl RoleExpressions {
    /// Returns the hosts that an expression gives (F9): a host string, an instance, or a list of
    /// both.
    pub fn hosts(&self, expression: &Value) -> Result<Vec<String>, String> {
        let context = Context::new(self.topology.root());
        let value = self.evaluator.evaluate(expression, &context);
        let value = value.map_err(|error| error.to_string())?;
        let items = match value.reveal() {
            Value::Null => Vec::new(),
            Value::List(items) => items.iter().cloned().collect(),
            one => vec![one.clone()],
        };
        items.iter().map(|item| self.host(item)).collect()
    }

    fn host(&self, item: &Value) -> Result<String, String> {
        match item.reveal() {
            Value::Str(host) => Ok(host.to_string()),
            Value::Entity(entity) => {
                let name = &self.topology.entity(entity.handle()).name;
                Ok(name.to_string())
            }
            other => {
                let other = other.redacted();
                Err(format!(
                    "its expression returned `{other}`, which is not a host"
                ))
            }
        }
    }
}

impl GatheredHosts {
    /// Gathers the instances of a topology that are hosts, with their groups.
    ///
    /// # Errors
    ///
    /// The data of a host or a group is not valid in an inventory.
    pub fn from_topology(
        topology: &Arc<Topology>,
        world: Arc<dyn SystemContext>,
    ) -> Result<Self, Error> {
        let scope: Arc<dyn Scope> = Arc::clone(topology) as _;
        let mut gathering = HostGatherer {
            evaluator: Evaluator::new(scope, world, Arc::new(Memo::default())),
            topology,
            inventory: Inventory::default(),
            warnings: Diagnostics::default(),
        };
        for node in topology.nodes() {
            gathering.node(node)?;
        }
        gathering.groups()?;
        let HostGatherer {
            inventory,
            warnings,
            evaluator,
            ..
        } = gathering;
        let expressions = RoleExpressions {
            evaluator,
            topology: Arc::clone(topology),
        };
        Ok(Self {
            inventory,
            warnings,
            sources: Sources::default(),
            expressions: Some(expressions),
        })
    }

    /// Adds the hosts of files. Values in a file override earlier ones. `tags` decrypts encrypted values.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or contradicts the others.
    pub fn add_files(&mut self, files: &[PathBuf], tags: &dyn TagReader) -> Result<(), Error> {
        for file in files {
            let read = Inventory::read(file, &mut self.sources, tags);
            let added = read.and_then(|(inventory, warnings)| {
                self.warnings.append(warnings);
                let text = self.sources.iter().last();
                let text = text.map_or("", |(_, source)| &*source.text);
                let exposed = inventory.with_open_password(text).and_then(|name| {
                    exposed_password_warning(file, &format!("the password of `{name}`"))
                });
                if let Some(warning) = exposed {
                    self.warnings.push(warning);
                }
                let added = self.inventory.extend(&inventory);
                added.map_err(|problem| Diagnostic::error(problem).into())
            });
            if let Err(problems) = added {
                let sources = std::mem::take(&mut self.sources);
                return Err(Error::with_sources(ErrorKind::Invalid, problems, sources));
            }
        }
        Ok(())
    }
}

struct HostGatherer<'a> {
    evaluator: Evaluator,
    topology: &'a Arc<Topology>,
    inventory: Inventory,
    warnings: Diagnostics,
}

impl HostGatherer<'_> {
    /// Returns the value of an attribute.
    ///
    /// An evaluation error becomes a warning, so that all other hosts can still be named.
    fn attribute(&mut self, of: Handle, name: &str) -> Option<Value> {
        match self.evaluator.attribute(of, name) {
            Ok(value) => value.filter(|value| !value.is_null()),
            Err(error) => {
                let key = self.topology.entity(of).key.to_string();
                self.warn(format!(
                    "could not evaluate the attribute `{name}` of `{key}`: {error}"
                ));
                None
            }
        }
    }

    fn warn(&mut self, message: String) {
        let warning = Diagnostic::warning(message);
        self.warnings.push(warning.label(Span::NONE, ""));
    }

    /// Adds a node instance to the inventory if it has an endpoint or an address.
    fn node(&mut self, of: Handle) -> Result<(), Error> {
        let entity = self.topology.entity(of);
        let Some(node) = entity.node() else {
            return Ok(());
        };
        let endpoint = self.topology.ansible_endpoint(of);
        let address = ADDRESS_ATTRIBUTES
            .iter()
            .find_map(|name| self.attribute(of, name));
        if endpoint.is_none() && address.is_none() {
            return Ok(());
        }
        let mut data = Map::new();
        if let Some(endpoint) = endpoint {
            self.add_endpoint_variables(endpoint, &mut data);
        }
        let name: Arc<str> = entity.name.as_str().into();
        self.add_connection_variables(of, &mut data)?;
        if let Some(address) = address.filter(|_| !data.contains_key("ansible_host")) {
            data.insert("ansible_host".into(), address);
            let ssh = || Value::str("ssh");
            data.entry("ansible_connection".into()).or_insert_with(ssh);
        }
        refuse_proxy_command(&mut data);
        let added = self.inventory.add_host(Arc::clone(&name), data);
        added.map_err(|problem| Error::new(ErrorKind::Invalid, problem, None))?;
        // The type names of an instance are roles as well.
        let types = &node.template.node_type.info.ancestors;
        let own = node.template.type_name.as_str();
        let others = types.iter().map(crate::name::TypeName::as_str);
        for type_name in std::iter::once(own).chain(others) {
            if !type_name.ends_with(".Root") && type_name != "Root" {
                self.inventory.add_to_group(&name, type_name);
            }
        }
        Ok(())
    }

    /// Adds the connection variables that an endpoint states.
    fn add_endpoint_variables(&mut self, endpoint: Handle, data: &mut Map) {
        for name in ENDPOINT_PROPERTIES {
            if let Some(value) = self.attribute(endpoint, name) {
                data.insert(format!("ansible_{name}").into(), value);
            }
        }
        if let Some(more) = self.attribute(endpoint, "hostvars")
            && let Some(more) = more.marked_entries()
        {
            data.extend(more);
        }
        if !data.contains_key("ansible_host") {
            let reported = data.get("ip_address").cloned();
            if let Some(address) = reported.or_else(|| self.attribute(endpoint, "ip_address")) {
                data.insert("ansible_host".into(), address);
            }
        }
    }

    /// Adds the variables of the connection to a host: from the model, or else from the environment.
    fn add_connection_variables(&mut self, of: Handle, data: &mut Map) -> Result<(), Error> {
        let Some(connection) = self.topology.host_connection(of) else {
            return Ok(());
        };
        let (credential, more) = if self.topology.is_declared_connection(connection) {
            let value = |name: &str| {
                let value = self.evaluator.attribute(connection, name);
                value.map_err(|error| {
                    let host = &self.topology.entity(of).name;
                    let message = format!(
                        "could not evaluate the connection to `{host}` in the environment: {error}"
                    );
                    Error::new(ErrorKind::Invalid, message, None)
                })
            };
            (value("credential")?, value("hostvars")?)
        } else {
            (
                self.attribute(connection, "credential"),
                self.attribute(connection, "hostvars"),
            )
        };
        if let Some(Value::Map(credential)) = credential.as_ref().map(Value::reveal) {
            apply_credential(credential, data);
        }
        if let Some(more) = more.as_ref().and_then(Value::marked_entries) {
            data.extend(more);
        }
        Ok(())
    }

    /// Adds the groups of the model, their hosts and their child groups.
    fn groups(&mut self) -> Result<(), Error> {
        let topology = Arc::clone(self.topology);
        let template = topology.template();
        let refused = |problem| Error::new(ErrorKind::Invalid, problem, None);
        for (name, group) in &template.groups {
            let mut data = Map::new();
            let is_ansible = topology.is_inventory_group(name);
            if let Some(raw) = group.properties.get("hostvars").filter(|_| is_ansible) {
                let context = Context::new(topology.root());
                match self.evaluator.evaluate(&raw.value, &context) {
                    Ok(value) => data = value.marked_entries().unwrap_or_default(),
                    Err(error) => {
                        self.warn(format!(
                            "could not evaluate `hostvars` of `{name}`: {error}"
                        ));
                    }
                }
            }
            refuse_proxy_command(&mut data);
            self.inventory.add_group(Arc::clone(name), data);
        }
        for (name, group) in &template.groups {
            for member in &group.members {
                if template.groups.contains_key(member) {
                    self.inventory
                        .add_child_group(member, name)
                        .map_err(refused)?;
                    continue;
                }
                let member = crate::name::TemplateName::new(Arc::clone(member));
                for instance in topology.instances_of(&member) {
                    let host = topology.entity(*instance).name.as_str();
                    if self.inventory.has_host(host) {
                        self.inventory.add_to_group(host, name);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Makes a host unreachable whose `ssh` arguments contain a `ProxyCommand`.
///
/// The command would run on this machine, and its text comes from the model or from attributes that
/// another machine has set.
fn refuse_proxy_command(data: &mut Map) {
    let has_command = |name: &&str| {
        let text = data.get(*name).map(|value| value.reveal().to_string());
        text.is_some_and(|text| text.to_ascii_lowercase().contains("proxycommand"))
    };
    if SSH_ARGUMENTS.iter().any(has_command) {
        for name in SSH_ARGUMENTS {
            data.shift_remove(name);
        }
        let refused = Value::str(REFUSED_PROXY_COMMAND);
        data.insert("ansible_connection".into(), refused);
    }
}

/// Adds the variables of a credential: the user, a token named by its type, and keys.
fn apply_credential(credential: &Map, data: &mut Map) {
    if let Some(user) = credential.get("user") {
        data.insert("ansible_user".into(), user.clone());
    }
    if let Some(token) = credential.get("token") {
        let kind = credential.get("token_type").and_then(Value::as_str);
        let name = format!("ansible_{}", kind.unwrap_or("password"));
        data.insert(name.into(), token.clone().sensitive());
    }
    if let Some(Value::Map(keys)) = credential.get("keys").map(Value::reveal) {
        data.extend(
            keys.iter()
                .map(|(key, value)| (Arc::clone(key), value.clone())),
        );
    }
}
