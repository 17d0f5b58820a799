//! Gathers the hosts that can be named: the instances of an ensemble, and the hosts of files.
//!
//! The model uses Unfurl's Ansible types: endpoints, `ConnectsTo.Ansible` relationships and
//! inventory groups become hosts, variables and groups of an inventory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::expr::{Context, Evaluator, Memo, Scope, SystemContext};
use crate::fleet::{Error, ErrorKind};
use crate::git::exposed_password_warning;
use crate::host::inventory::{Inventory, InventoryReader, refuse_proxy_command};
use crate::host::{ExecutorConfiguration, Secret};
use crate::project::FolderKeys;
use crate::topology::{AttributeReader, Topology};
use crate::value::{Handle, Map, Value};

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
    /// The passwords that the secrets of the environment give for login, `sudo` and keys.
    pub passwords: [Option<Secret>; 3],
    /// The executors that files configure, the strongest first.
    pub executors: Vec<ExecutorConfiguration>,
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

    /// Returns the text that a value of the environment gives.
    fn text(&self, raw: &Value) -> Result<String, String> {
        let context = Context::new(self.topology.root());
        let value = self.evaluator.evaluate(raw, &context);
        let value = value.map_err(|error| error.to_string())?;
        match value.reveal() {
            Value::Str(text) => Ok(text.to_string()),
            Value::Int(number) => Ok(number.to_string()),
            other => Err(format!("a string is needed, not {}", other.kind())),
        }
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
            failed: HashSet::new(),
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
            passwords: Default::default(),
            executors: Vec::new(),
        })
    }

    /// Evaluates secrets of the environment that give passwords. One that cannot be evaluated becomes a warning.
    pub fn add_passwords(&mut self, names: [&str; 3], secrets: &Map) {
        for (slot, name) in self.passwords.iter_mut().zip(names) {
            let (Some(raw), Some(expressions)) = (secrets.get(name), &self.expressions) else {
                continue;
            };
            match expressions.text(raw) {
                Ok(text) => *slot = Some(Secret::new(text)),
                Err(why) => {
                    let message = format!("the secret `{name}` of the environment: {why}");
                    let warning = Diagnostic::warning(message);
                    self.warnings.push(warning.label(Span::NONE, ""));
                }
            }
        }
    }

    /// Adds the hosts of files, folders and programs, with the variables in the folders beside them. Values in a file
    /// override earlier ones. `keys` decrypts, and `may_run` says whether a program may run.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or contradicts the others.
    pub fn add_files(
        &mut self,
        files: &[PathBuf],
        keys: &FolderKeys,
        may_run: &dyn Fn(&Path) -> bool,
    ) -> Result<(), Error> {
        if files.is_empty() {
            return Ok(());
        }
        let mut reader = InventoryReader {
            keys: keys.for_files(),
            may_run,
            sources: &mut self.sources,
            inventory: std::mem::take(&mut self.inventory),
            warnings: Diagnostics::default(),
            open_passwords: Vec::new(),
            executors: Vec::new(),
        };
        let read = reader.read_all(files);
        self.inventory = reader.inventory;
        // The last file wins.
        self.executors
            .splice(0..0, reader.executors.into_iter().rev());
        self.warnings.append(reader.warnings);
        for (file, name) in reader.open_passwords {
            let subject = format!("the password of `{name}`");
            if let Some(warning) = exposed_password_warning(&file, &subject) {
                self.warnings.push(warning);
            }
        }
        read.map_err(|problems| {
            let sources = std::mem::take(&mut self.sources);
            Error::with_sources(ErrorKind::Invalid, problems, sources)
        })
    }
}

struct HostGatherer<'a> {
    evaluator: Evaluator,
    topology: &'a Arc<Topology>,
    inventory: Inventory,
    warnings: Diagnostics,
    /// The attributes that could not be evaluated, each of which has a warning.
    failed: HashSet<(Handle, String)>,
}

impl HostGatherer<'_> {
    /// Returns the value of an attribute.
    ///
    /// An evaluation error becomes a warning, so that all other hosts can still be named.
    fn attribute(&mut self, of: Handle, name: &str) -> Option<Value> {
        match self.evaluator.attribute(of, name) {
            Ok(value) => value.filter(|value| !value.is_null()),
            Err(error) if self.failed.insert((of, name.to_owned())) => {
                let key = self.topology.entity(of).key.to_string();
                self.warn(format!(
                    "could not evaluate the attribute `{name}` of `{key}`: {error}"
                ));
                None
            }
            Err(_) => None,
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
        let topology = self.topology;
        if !topology.is_machine(of, self)? {
            return Ok(());
        }
        let name: Arc<str> = entity.name.as_str().into();
        let mut data = topology.host_variables(of, self)?;
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

impl AttributeReader for HostGatherer<'_> {
    type Error = Error;

    /// Returns an attribute. An evaluation error of a connection in the environment ends the gathering; others become
    /// warnings, so that all other hosts can still be named.
    fn read(&mut self, of: Handle, name: &str) -> Result<Option<Value>, Error> {
        if !self.topology.is_declared_connection(of) {
            return Ok(self.attribute(of, name));
        }
        self.evaluator.attribute(of, name).map_err(|error| {
            let key = &self.topology.entity(of).key;
            let message = format!(
                "could not evaluate `{name}` of the connection `{key}` in the environment: {error}"
            );
            Error::new(ErrorKind::Invalid, message, None)
        })
    }
}
