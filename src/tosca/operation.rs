//! Operations of an entity, resolved from its type and its template, and the artifacts that implement them.
//!
//! [`Operations`] groups them by interface. An [`Implementation`] states which configurator, command or
//! artifact runs. Artifacts have operations of their own. This file holds data and lookups only.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::{InterfaceName, OperationName, OperationRef, TemplateName, TypeName};
use crate::value::{Fold, Map, Value};

use super::definition::TypeInfo;
use super::definition::{Property, PropertyDef};
use super::interface_draft::InterfaceDrafts;

/// The prefix of the names of artifacts that operations define inline.
pub(super) const INLINE_PREFIX: &str = "__primary_";

/// The operations of an entity by interface.
///
/// An interface can be looked up by its own name and by the name of its type.
#[derive(Debug, Clone, Default)]
pub struct Operations {
    pub(super) interfaces: IndexMap<InterfaceName, Arc<Interface>, Fold>,
}

/// An interface of an entity with its operations.
#[derive(Debug, Clone)]
pub struct Interface {
    /// The short name, such as `Standard`, if there is one.
    pub name: InterfaceName,
    pub type_name: Option<TypeName>,
    /// The operations in declared order, including those without an implementation.
    pub operations: IndexMap<OperationName, Arc<Operation>, Fold>,
    /// The operation to use for a name that `operations` does not contain. It has the shared implementation
    /// and inputs of the interface.
    pub default: Option<Arc<Operation>>,
    /// The relationship types of the connections that the operations need.
    pub requirements: Vec<TypeName>,
    pub span: Span,
}

impl Operations {
    /// Returns an operation by its name and the name of its interface or interface type.
    pub fn get(&self, interface: &str, operation: &str) -> Option<&Arc<Operation>> {
        self.interface(interface)?.operations.get(operation)
    }

    /// Returns an interface by its name or by the name of its type.
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

    /// Whether an operation exists and has an implementation.
    pub fn implemented(&self, interface: &str, operation: &str) -> bool {
        self.get(interface, operation)
            .is_some_and(|operation| operation.is_implemented())
    }

    /// Iterates over the operations of all interfaces, interface by interface.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Operation>> {
        self.interfaces
            .values()
            .flat_map(|interface| interface.operations.values())
    }

    /// Iterates over the interfaces in declared order.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.interfaces.values().map(|interface| &**interface)
    }

    /// Returns the operations for which `keep` is true. It gets the names of interface and operation.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&str, &str) -> bool) -> Self {
        let mut kept = self.clone();
        for (name, interface) in &mut kept.interfaces {
            let is_kept = |operation: &OperationName| keep(name.as_str(), operation.as_str());
            if !interface.operations.keys().all(is_kept) {
                let interface = Arc::make_mut(interface);
                interface
                    .operations
                    .retain(|operation, _| is_kept(operation));
            }
        }
        kept
    }

    /// Returns the relationship types of the connections that the operations need, without duplicates.
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

/// The short names of well-known interfaces, with their types.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("Standard", "tosca.interfaces.node.lifecycle.Standard"),
    ("Configure", "tosca.interfaces.relationship.Configure"),
    ("Install", "unfurl.interfaces.Install"),
    ("Executable", "unfurl.interfaces.Executable"),
    ("Mock", "Mock"),
];

/// Returns the interface type that a well-known short name stands for.
pub(super) fn type_of_short_name(name: &str) -> Option<&'static str> {
    let known = SHORT_NAMES.iter().find(|(short, _)| *short == name);
    known.map(|(_, type_name)| *type_name)
}

/// Returns the short name of a well-known interface type. Any other name is returned unchanged.
pub(super) fn short_interface_name(name: &str) -> &str {
    let known = SHORT_NAMES.iter().find(|(_, type_name)| *type_name == name);
    known.map_or(name, |(short, _)| short)
}

/// An operation of an entity, with everything that running it needs.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The interface and the name of the operation.
    pub reference: OperationRef,
    pub implementation: Option<Implementation>,
    /// The unevaluated inputs. Those of `defaults` and of the interface are merged under the operation's own.
    pub inputs: Map,
    /// The definitions of the inputs that declare a type.
    pub input_defs: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The locations where the inputs are set.
    pub input_spans: IndexMap<Arc<str>, Span>,
    /// The unevaluated mapping of outputs to attributes.
    pub outputs: Map,
    /// The definitions of the outputs that declare a type.
    pub output_defs: IndexMap<Arc<str>, Arc<PropertyDef>>,
    /// The node state of the target when the operation starts.
    ///
    /// Nodes that the target depends on only need to have reached this state, instead of being ready.
    pub entry_state: Option<Arc<str>>,
    /// The operation to run instead, as `Interface.operation`.
    pub invoke: Option<Arc<str>>,
    pub metadata: Map,
    pub description: Option<Arc<str>>,
    pub span: Span,
    /// The directory of the file that declares the implementation.
    pub base_dir: Arc<PathBuf>,
}

impl Operation {
    /// Whether the operation has an implementation or invokes another operation.
    pub fn is_implemented(&self) -> bool {
        self.implementation.is_some() || self.invoke.is_some()
    }

    /// Returns the location of an input, or of the operation if no text sets the input.
    pub fn input_place(&self, name: &str) -> Span {
        let span = self.input_spans.get(name);
        span.copied().unwrap_or(self.span)
    }

    /// Returns the text of `primary` if it names no file. `exists` answers for a path below `base_dir`, the folder of the
    /// ensemble, and below the folder of the operation's file.
    pub(super) fn primary_without_file(
        &self,
        base_dir: &Path,
        exists: &dyn Fn(&Path) -> bool,
    ) -> Option<&str> {
        let implementation = self.implementation.as_ref()?;
        let names = implementation.primary_files()?;
        let folders = [base_dir, self.base_dir.as_path()];
        let is_file = |name: &&str| {
            let mut paths = folders.into_iter().map(|folder| folder.join(name));
            implementation.may_be_remote_file(name) || paths.any(|path| exists(&path))
        };
        (!names.iter().any(is_file)).then_some(names[0])
    }

    /// Returns the location of the implementation, or of the operation without one.
    pub fn place(&self) -> Span {
        let implementation = self.implementation.as_ref();
        implementation.map_or(self.span, |it| it.span)
    }
}

/// The implementation of an operation: what runs, where, and for how long at most.
#[derive(Debug, Clone)]
pub struct Implementation {
    pub kind: ImplementationKind,
    /// The `className` as written, if the implementation has one.
    pub class: Option<Arc<str>>,
    /// The artifact that runs, if `primary` names one or defines it inline.
    pub primary: Option<Arc<Artifact>>,
    /// The text of `primary`, unless it is the name of an artifact.
    pub primary_text: Option<Arc<str>>,
    /// The artifacts that must be present first.
    pub dependencies: Vec<Dependency>,
    /// The node to run on: `SELF`, `HOST`, `ORCHESTRATOR`, a template name and so on.
    pub operation_host: Option<Arc<str>>,
    /// The rules for environment variables, unevaluated.
    pub environment: Map,
    /// The maximum duration of the operation.
    pub timeout: Option<Duration>,
    /// An unevaluated JSON schema that the attributes of the target must meet.
    pub pre_conditions: Option<Value>,
    pub span: Span,
}

/// An artifact that an implementation depends on.
#[derive(Debug, Clone)]
pub enum Dependency {
    /// The name of an artifact of the entity, or of a file.
    Named(Arc<str>),
    /// An artifact that is defined inline.
    Inline(Arc<Artifact>),
}

/// The kind of program that performs an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImplementationKind {
    /// A configurator by its short name: `Shell`, `Cmd`, `Template`, `Delegate`, `Ansible` and so on.
    Configurator(Arc<str>),
    /// A command line for the shell.
    Command(Arc<str>),
    /// The name of an artifact of the entity.
    Artifact(Arc<str>),
    /// A Python class, which only the original Unfurl can run.
    Unsupported(Arc<str>),
}

/// The short names of configurators, with the class paths that upstream Unfurl has for them.
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

/// Returns the short names of all configurators.
pub fn configurator_names() -> impl Iterator<Item = &'static str> {
    CONFIGURATORS.iter().map(|(name, _)| *name)
}

impl Implementation {
    /// Returns the names one of which must be that of a file, so that the text of `primary` can run: the whole text, and
    /// the word before its arguments. None if the implementation is not the text of `primary`.
    fn primary_files(&self) -> Option<[&str; 2]> {
        let ImplementationKind::Command(text) = &self.kind else {
            return None;
        };
        let first = text.split_whitespace().next().unwrap_or_default();
        self.primary_text.is_some().then_some([text, first])
    }

    /// Returns true if `operation_host` names this machine, or no machine.
    ///
    /// `Shell` always runs on this machine, as in Unfurl (Python).
    pub fn is_local(&self) -> bool {
        let host = self.operation_host.as_deref();
        matches!(host, None | Some("" | "localhost" | "ORCHESTRATOR"))
    }

    /// Returns true if a file of this name may exist on the other machine on which the operation runs.
    fn may_be_remote_file(&self, name: &str) -> bool {
        !self.is_local() && name.starts_with(['/', '~'])
    }

    /// Returns the class path that upstream Unfurl has for the implementation.
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

/// Returns the class path for the short name of a configurator.
pub(super) fn class_path(short: &str) -> Option<&'static str> {
    CONFIGURATORS
        .iter()
        .find(|(name, _)| *name == short)
        .map(|(_, class)| *class)
}

/// Returns the short name of a configurator, for its short name or its class path.
pub(super) fn short_name(text: &str) -> Option<&'static str> {
    CONFIGURATORS
        .iter()
        .find(|(name, class)| *name == text || *class == text)
        .map(|(name, _)| *name)
}

/// A file or an image that operations use.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The name. An artifact that an operation defines inline is named `__primary_<interface>_<operation>`.
    pub name: Arc<str>,
    /// The name of the type. The default is `tosca.artifacts.Root`.
    pub type_name: TypeName,
    /// The resolved type of the artifact.
    pub definition: Arc<ArtifactType>,
    /// The path, URL or image name, as written. It may be an expression.
    pub file: Value,
    /// The name of the repository that contains the file.
    pub repository: Option<Arc<str>>,
    /// The `LocalRepository` that declares the artifact, if an operation of another node names it.
    pub store: Option<TemplateName>,
    pub description: Option<Arc<str>>,
    pub properties: Arc<IndexMap<Arc<str>, Property>>,
    pub operations: Arc<Operations>,
    /// Other keys, unevaluated: `intent`, `target`, `contents`, `version`, `order` and so on.
    pub fields: Map,
    pub metadata: Map,
    pub span: Span,
    /// The directory of the file that declares the artifact.
    pub base_dir: Arc<PathBuf>,
}

impl Artifact {
    /// Whether the type of the artifact is, or derives from, the named type.
    pub fn is_a(&self, type_name: &str) -> bool {
        self.definition.info.is_derived_from(type_name)
    }

    /// Returns the `execute` operation, which describes how to run the artifact, if there is one.
    pub fn execute(&self) -> Option<&Operation> {
        let interface = self.operations.interface("Executable")?;
        let execute = interface.operations.get("execute");
        execute.or(interface.default.as_ref()).map(|it| &**it)
    }

    /// Whether an operation defines the artifact inline, so that the template has no name for it.
    pub fn is_inline(&self) -> bool {
        is_inline_name(&self.name)
    }
}

/// Whether the name is that of an artifact that an operation defines inline.
pub(super) fn is_inline_name(name: &str) -> bool {
    name.starts_with(INLINE_PREFIX)
}

/// An artifact type, merged with its ancestors.
#[derive(Debug, Clone)]
pub struct ArtifactType {
    pub info: TypeInfo,
    pub properties: IndexMap<Arc<str>, Arc<PropertyDef>>,
    pub operations: Arc<Operations>,
    pub(super) interfaces: Arc<InterfaceDrafts>,
    /// The properties of an artifact that sets none itself. Shared by such artifacts.
    pub default_properties: Arc<IndexMap<Arc<str>, Property>>,
}
