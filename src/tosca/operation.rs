//! Operations of an entity, resolved from its type and its template, and the artifacts that
//! implement them, which have operations themselves.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::{InterfaceName, OperationName, OperationRef, TypeName};
use crate::value::{Fold, Map, Value};

use super::definition::TypeInfo;
use super::definition::{Property, PropertyDef};
use super::interface_draft::InterfaceDrafts;

/// How the names of artifacts begin that operations state in place.
pub(super) const IN_PLACE: &str = "__primary_";

/// The operations of an entity by interface. Interfaces answer to their name and to their type's.
#[derive(Debug, Clone, Default)]
pub struct Operations {
    pub(super) interfaces: IndexMap<InterfaceName, Arc<Interface>, Fold>,
}

/// An interface of an entity with its operations.
#[derive(Debug, Clone)]
pub struct Interface {
    /// Its name, such as `Standard`.
    pub name: InterfaceName,
    /// The name of its type.
    pub type_name: Option<TypeName>,
    /// Its operations in order, those declared without an implementation among them.
    pub operations: IndexMap<OperationName, Arc<Operation>, Fold>,
    /// What stands for an operation that is not among them: the shared implementation and inputs.
    pub default: Option<Arc<Operation>>,
    /// The connections its operations need: names of relationship types.
    pub requirements: Vec<TypeName>,
    /// Where it is declared.
    pub span: Span,
}

impl Operations {
    /// An operation by the name of its interface, or of the interface's type, and its own.
    pub fn get(&self, interface: &str, operation: &str) -> Option<&Arc<Operation>> {
        self.interface(interface)?.operations.get(operation)
    }

    /// An interface by its name or its type's.
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        if let Some(interface) = self.interfaces.get(name) {
            return Some(interface);
        }
        let known = type_of_short_name(name);
        let mut interfaces = self.interfaces.values().map(|interface| &**interface);
        interfaces.find(|interface| {
            interface.type_name.as_ref().is_some_and(|type_name| {
                type_name.as_str() == name || known == Some(type_name.as_str())
            })
        })
    }

    /// Whether an operation exists and something implements it.
    pub fn implemented(&self, interface: &str, operation: &str) -> bool {
        self.get(interface, operation)
            .is_some_and(|operation| operation.is_implemented())
    }

    /// Every operation, interface by interface.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Operation>> {
        self.interfaces
            .values()
            .flat_map(|interface| interface.operations.values())
    }

    /// Every interface in order.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.interfaces.values().map(|interface| &**interface)
    }

    /// The connections that the operations need, each once: names of relationship types.
    pub fn connection_types(&self) -> Vec<&TypeName> {
        let mut types: Vec<&TypeName> = Vec::new();
        for name in self.interfaces.values().flat_map(|i| &i.requirements) {
            if !types.contains(&name) {
                types.push(name);
            }
        }
        types
    }
}

/// Well-known interfaces and their types.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("Standard", "tosca.interfaces.node.lifecycle.Standard"),
    ("Configure", "tosca.interfaces.relationship.Configure"),
    ("Install", "unfurl.interfaces.Install"),
    ("Executable", "unfurl.interfaces.Executable"),
    ("Mock", "Mock"),
];

/// The type of an interface that goes by a short name, if it is a well-known one.
pub(super) fn type_of_short_name(name: &str) -> Option<&'static str> {
    let known = SHORT_NAMES.iter().find(|(short, _)| *short == name);
    known.map(|(_, type_name)| *type_name)
}

/// The short name of a well-known interface that is called by its type; the name itself otherwise.
pub(super) fn short_interface_name(name: &str) -> &str {
    let known = SHORT_NAMES.iter().find(|(_, type_name)| *type_name == name);
    known.map_or(name, |(short, _)| short)
}

/// One operation of an entity.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Which one it is.
    pub reference: OperationRef,
    /// What implements it, if anything does.
    pub implementation: Option<Implementation>,
    /// Its inputs, raw: the interface's and the `defaults` merged under its own.
    pub inputs: Map,
    /// The definitions of those inputs that declare a type.
    pub input_defs: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// Where each of those inputs is set.
    pub input_spans: IndexMap<Arc<str>, Span>,
    /// Where its outputs go, raw.
    pub outputs: Map,
    /// The definitions of those outputs that declare a type.
    pub output_defs: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The node state it asks for, instead of the one its name implies.
    pub entry_state: Option<Arc<str>>,
    /// The operation it stands for: `Interface.operation`.
    pub invoke: Option<Arc<str>>,
    /// Its `metadata`.
    pub metadata: Map,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Where it is declared.
    pub span: Span,
    /// The directory of the file that declares its implementation.
    pub base_dir: Arc<PathBuf>,
}

impl Operation {
    /// Whether something implements it.
    pub fn is_implemented(&self) -> bool {
        self.implementation.is_some() || self.invoke.is_some()
    }
}

/// What implements an operation.
#[derive(Debug, Clone)]
pub struct Implementation {
    /// What runs.
    pub kind: ImplementationKind,
    /// The `className`, as written, if one is given.
    pub class: Option<Arc<str>>,
    /// The artifact that runs, if `primary` names one or states it inline.
    pub primary: Option<Arc<Artifact>>,
    /// Artifacts that must be there first.
    pub dependencies: Vec<Dependency>,
    /// Where it runs: `SELF`, `HOST`, `ORCHESTRATOR`, a template, ….
    pub operation_host: Option<Arc<str>>,
    /// Rules for environment variables, raw.
    pub environment: Map,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// A JSON schema that the target's attributes must meet, raw.
    pub pre_conditions: Option<Value>,
    /// Where it stands.
    pub span: Span,
}

/// An artifact that an implementation depends on.
#[derive(Debug, Clone)]
pub enum Dependency {
    /// One that the entity names, or a file.
    Named(Arc<str>),
    /// One stated in place.
    Inline(Arc<Artifact>),
}

/// What runs when an operation is performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImplementationKind {
    /// A configurator by its short name: `Shell`, `Cmd`, `Template`, `Delegate`, `Ansible`, ….
    Configurator(Arc<str>),
    /// A shell command.
    Command(Arc<str>),
    /// An artifact by its name.
    Artifact(Arc<str>),
    /// A Python class, which only the original can run.
    Unsupported(Arc<str>),
}

/// Short names of configurators and the class paths upstream gives them.
const CONFIGURATORS: &[(&str, &str)] = &[
    ("Shell", "unfurl.configurators.shell.ShellConfigurator"),
    ("Cmd", "unfurl.configurators.shell.ShellConfigurator"),
    ("Template", "unfurl.configurators.TemplateConfigurator"),
    ("Delegate", "unfurl.configurators.DelegateConfigurator"),
    ("Task", "unfurl.configurators.task.TaskConfigurator"),
    ("States", "unfurl.configurators.states.StatesConfigurator"),
    (
        "Ansible",
        "unfurl.configurators.ansible.AnsibleConfigurator",
    ),
    (
        "Terraform",
        "unfurl.configurators.terraform.TerraformConfigurator",
    ),
];

impl Implementation {
    /// The class path that upstream names for it.
    pub fn class_name(&self) -> Arc<str> {
        match &self.kind {
            ImplementationKind::Configurator(short) => class_path(short).unwrap_or(short).into(),
            ImplementationKind::Command(_) => CONFIGURATORS[0].1.into(),
            ImplementationKind::Artifact(_) => match &self.class {
                Some(class) => class_path(class).map_or_else(|| Arc::clone(class), Arc::from),
                None => CONFIGURATORS[0].1.into(),
            },
            ImplementationKind::Unsupported(class) => Arc::clone(class),
        }
    }
}

/// The class path of a configurator's short name.
pub(super) fn class_path(short: &str) -> Option<&'static str> {
    CONFIGURATORS
        .iter()
        .find(|(name, _)| *name == short)
        .map(|(_, class)| *class)
}

/// The short name of a configurator, given that or its class path.
pub(super) fn short_name(text: &str) -> Option<&'static str> {
    CONFIGURATORS
        .iter()
        .find(|(name, class)| *name == text || *class == text)
        .map(|(name, _)| *name)
}

/// A file or image that operations use.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// Its name; what an operation states in place is `__primary_<interface>_<operation>`.
    pub name: Arc<str>,
    /// The name of its type; `tosca.artifacts.Root` if none is given.
    pub type_name: TypeName,
    /// Its type.
    pub definition: Arc<ArtifactType>,
    /// Its file or image, as written.
    pub file: Value,
    /// The repository the file is in.
    pub repository: Option<Arc<str>>,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Its properties.
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    /// Its operations.
    pub operations: Arc<Operations>,
    /// Every other key it states, raw: `intent`, `target`, `contents`, `version`, `order`, ….
    pub fields: Map,
    /// Its `metadata`.
    pub metadata: Map,
    /// Where it is declared.
    pub span: Span,
    /// The directory of the file that declares it.
    pub base_dir: Arc<PathBuf>,
}

impl Artifact {
    /// The operation that says what executing it takes, if it declares one.
    pub fn execute(&self) -> Option<&Operation> {
        let interface = self.operations.interface("Executable")?;
        let execute = interface.operations.get("execute");
        execute.or(interface.default.as_ref()).map(|it| &**it)
    }

    /// Whether an operation states it in place: then nobody has named it.
    pub fn is_in_place(&self) -> bool {
        is_in_place(&self.name)
    }
}

/// Whether an operation states the artifact in place; such artifacts have no name of their own.
pub(super) fn is_in_place(name: &str) -> bool {
    name.starts_with(IN_PLACE)
}

/// An artifact type.
#[derive(Debug, Clone)]
pub struct ArtifactType {
    /// What every type has.
    pub info: TypeInfo,
    /// Its properties.
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// Its operations.
    pub operations: Arc<Operations>,
    pub(super) interfaces: Arc<InterfaceDrafts>,
    /// The properties of an artifact that sets none.
    pub default_properties: Arc<IndexMap<Arc<str>, Property>>,
}
