//! Walks through a model and checks each of its parts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::members::Owner;
use super::settable::SettableNames;
use super::surroundings::Surroundings;
use super::values::ValuePlace;
use crate::diagnostic::{Check, Diagnostic, Diagnostics, Sources, Span};
use crate::text::did_you_mean;
use crate::tosca::{
    ImplementationKind, NodeTemplate, Operations, Property, PropertyDef, RelationshipTemplate,
    ServiceTemplate, TopologyTemplate, TypeKey, WorkflowActivity,
};
use crate::value::Value;

/// Everything that the checks need besides the model.
pub struct ModelChecks<'a> {
    pub sources: &'a Sources,
    /// The names of inputs that have a value, also undeclared ones.
    pub given_inputs: HashSet<Arc<str>>,
    /// The names of instances and attributes on record.
    pub recorded_names: HashSet<Arc<str>>,
    /// Variables that templates have besides the built-in ones.
    pub variables: HashSet<Arc<str>>,
    /// This machine and the files of the project. `None` for a service template alone, whose files may be elsewhere.
    pub surroundings: Option<&'a dyn Surroundings>,
    /// The folder of the ensemble.
    pub base_dir: &'a Path,
    /// Whether names that other TOSCA tools may know are warnings: for service templates of any tool.
    pub lenient: bool,
}

/// Checks a model and returns the problems. All errors are contained: they concern the named part only.
pub fn check_model(service: &ServiceTemplate, checks: ModelChecks<'_>) -> Diagnostics {
    let topology = &*service.topology;
    let mut checker = Checker {
        topology,
        sources: checks.sources,
        surroundings: checks.surroundings,
        base_dir: checks.base_dir,
        lenient: checks.lenient,
        substitutable: &service.substitutable,
        given: checks.given_inputs,
        settable: SettableNames::of(topology, checks.recorded_names),
        variables: checks.variables,
        called: called_with_inputs(topology),
        commands: commands_of(topology),
        seen: HashSet::new(),
        reported: HashSet::new(),
        problems: Diagnostics::default(),
    };
    checker.variables.extend(TASK_VARIABLES.map(Arc::from));
    checker.topology();
    checker.problems
}

/// Returns the names of operations that get inputs from a workflow or a delegate.
fn called_with_inputs(topology: &TopologyTemplate) -> HashSet<String> {
    let mut called = HashSet::new();
    let steps = topology
        .workflows
        .values()
        .flat_map(|workflow| workflow.steps.values());
    for activity in steps.flat_map(|step| &step.activities) {
        if let WorkflowActivity::CallOperation { operation, .. } = activity {
            called.insert(operation.operation.to_string());
        }
    }
    for operation in topology
        .nodes
        .values()
        .flat_map(|node| node.operations.iter())
    {
        if let Some(Value::Str(name)) = operation.inputs.get("operation") {
            called.extend(name.rsplit('.').next().map(str::to_owned));
        }
        if let Some(invoked) = &operation.invoke {
            called.extend(invoked.rsplit('.').next().map(str::to_owned));
        }
    }
    called
}

/// Returns the texts of all commands.
fn commands_of(topology: &TopologyTemplate) -> Vec<Arc<str>> {
    let mut commands = Vec::new();
    let mut seen = HashSet::new();
    for operation in topology
        .nodes
        .values()
        .flat_map(|node| node.operations.iter())
    {
        if !seen.insert(Arc::as_ptr(operation)) {
            continue;
        }
        for name in ["command", "cmd", "run"] {
            add_texts(
                operation.inputs.get(name).unwrap_or(&Value::Null),
                &mut commands,
            );
        }
        if let Some(ImplementationKind::Command(command)) =
            operation.implementation.as_ref().map(|it| &it.kind)
        {
            commands.push(Arc::clone(command));
        }
    }
    commands
}

fn add_texts(value: &Value, texts: &mut Vec<Arc<str>>) {
    match value {
        Value::Str(text) => texts.push(Arc::clone(text)),
        Value::List(items) => items.iter().for_each(|item| add_texts(item, texts)),
        Value::Map(map) => map.values().for_each(|item| add_texts(item, texts)),
        _ => {}
    }
}

/// The maximum length of a message in bytes, for names that are very long.
const MAX_MESSAGE: usize = 500;

/// The maximum number of problems. Each one takes time, and the first ones are enough to begin with.
const MAX_PROBLEMS: usize = 2000;

/// The variables that tasks have.
const TASK_VARIABLES: [&str; 7] = [
    "inputs",
    "task",
    "connections",
    "implementation",
    "arguments",
    "start",
    "OPERATION_HOST",
];

pub(super) struct Checker<'a> {
    pub(super) topology: &'a TopologyTemplate,
    pub(super) sources: &'a Sources,
    pub(super) surroundings: Option<&'a dyn Surroundings>,
    pub(super) base_dir: &'a Path,
    pub(super) lenient: bool,
    pub(super) substitutable: &'a HashSet<TypeKey>,
    pub(super) given: HashSet<Arc<str>>,
    pub(super) settable: SettableNames,
    pub(super) variables: HashSet<Arc<str>>,
    /// The names of operations that workflows or delegates call with inputs of their own.
    pub(super) called: HashSet<String>,
    /// The commands of all operations, which may write files.
    commands: Vec<Arc<str>>,
    /// Shared parts of types that were checked before, with the type that they were checked for.
    seen: HashSet<(usize, usize)>,
    reported: HashSet<(Check, Span)>,
    pub(super) problems: Diagnostics,
}

impl<'a> Checker<'a> {
    /// Adds a problem, unless the same check has already reported its place.
    pub(super) fn report(&mut self, mut problem: Diagnostic) {
        if problem.message.len() > MAX_MESSAGE {
            problem
                .message
                .truncate(problem.message.floor_char_boundary(MAX_MESSAGE));
            problem.message.push('…');
        }
        let place = problem.span();
        if place.is_none_or(|span| self.reported.insert((problem.check, span))) {
            self.problems.push(problem);
        }
    }

    /// Whether enough problems were found.
    pub(super) fn is_full(&self) -> bool {
        self.problems.len() >= MAX_PROBLEMS
    }

    /// Returns the inputs that the expressions of a template can read.
    pub(super) fn inputs_of(
        &self,
        within: Option<&NodeTemplate>,
    ) -> &'a IndexMap<Arc<str>, Arc<PropertyDef>> {
        let outer = within.and_then(|node| node.nested_in.as_ref());
        let nested = outer.and_then(|outer| self.topology.nested.get(outer));
        nested.map_or(&self.topology.inputs, |nested| &nested.topology.inputs)
    }

    /// Whether another topology may substitute for a node, whose attributes are then unknown.
    pub(super) fn is_substitutable(&self, node: &NodeTemplate) -> bool {
        node.has_directive("substitute") && node.representative.is_none()
    }

    /// Whether a command mentions the file, so that a task may write it.
    pub(super) fn is_mentioned(&self, path: &str) -> bool {
        let name = Path::new(path)
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or(path);
        self.settable.contains(name) || self.commands.iter().any(|command| command.contains(name))
    }

    /// Whether a command other than the file itself mentions it, so that a task may write it.
    pub(super) fn is_written(&self, path: &str) -> bool {
        let name = Path::new(path)
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or(path);
        let runs = |command: &str| command.split_whitespace().next() == Some(path);
        let mut others = self.commands.iter().filter(|command| !runs(command));
        self.settable.contains(name) || others.any(|command| command.contains(name))
    }

    /// Returns a hint if a file exists in none of the folders. `None` if it exists or may not be looked at.
    pub(super) fn missing_file(
        &self,
        path: &str,
        folders: &mut dyn Iterator<Item = PathBuf>,
    ) -> Option<String> {
        let surroundings = self.surroundings?;
        let mut similar = None;
        for folder in folders {
            let full = folder.join(path);
            if surroundings.exists(&full) != Some(false) {
                return None;
            }
            let (parent, name) = (full.parent()?, full.file_name()?.to_str()?);
            let names = surroundings.list(parent);
            let found = did_you_mean(name, names.iter().map(String::as_str));
            similar = similar.or_else(|| {
                let found = found?;
                let before = path.strip_suffix(name).unwrap_or_default();
                Some(found.replacen('`', &format!("`{before}"), 1))
            });
        }
        Some(similar.unwrap_or_else(|| {
            format!("create `{path}` in the folder of the ensemble, or correct the path")
        }))
    }

    /// Whether a shared part is met for the first time for a type.
    pub(super) fn is_new<T: ?Sized, U>(&mut self, part: &Arc<T>, of: &Arc<U>) -> bool {
        let key = (
            Arc::as_ptr(part).cast::<u8>().addr(),
            Arc::as_ptr(of).cast::<u8>().addr(),
        );
        self.seen.insert(key)
    }

    fn topology(&mut self) {
        let topology = self.topology;
        for (name, input) in &topology.inputs {
            let Some(default) = input.default.as_ref().filter(|_| !input.is_sensitive()) else {
                continue;
            };
            let subject = || format!("the default of input `{name}`");
            let place = ValuePlace::new(Owner::Topology, None, input.default_span, &subject);
            self.value(default, place);
        }
        for (name, output) in &topology.outputs {
            let subject = || format!("output `{name}`");
            self.value(
                &output.value,
                ValuePlace::new(Owner::Topology, None, output.value_span, &subject),
            );
        }
        for node in topology.nodes.values().filter(|node| !node.is_orphaned) {
            self.node(node);
        }
        for relationship in topology.relationships.values() {
            self.relationship(relationship, None, None);
        }
        for workflow in topology.workflows.values() {
            self.workflow(workflow);
        }
    }

    fn node(&mut self, node: &'a NodeTemplate) {
        let within = node.nested_in.is_some().then_some(node);
        let owner = Owner::Node(node);
        let of_node = || format!("node template `{}`", node.name);
        if self.is_new(&node.properties, &node.node_type) {
            self.properties(&node.properties, owner, within, &of_node);
        }
        if self.is_new(&node.attributes, &node.node_type) {
            for (name, attribute) in &*node.attributes {
                let Some(value) = &attribute.default else {
                    continue;
                };
                let subject = || format!("attribute `{name}` of {}", of_node());
                self.value(value, ValuePlace::new(owner, within, node.span, &subject));
            }
        }
        if self.is_new(&node.capabilities, &node.node_type) {
            for (name, capability) in &*node.capabilities {
                let subject = || format!("capability `{name}` of {}", of_node());
                self.properties(&capability.properties, Owner::Other, within, &subject);
            }
        }
        if self.is_new(&node.artifacts, &node.node_type) {
            for (name, artifact) in &*node.artifacts {
                let subject = || format!("artifact `{name}` of {}", of_node());
                self.properties(&artifact.properties, Owner::Other, within, &subject);
            }
        }
        if self.is_new(&node.operations, &node.node_type) {
            self.operations(&node.operations, owner, Some(node), &of_node);
        }
        for requirement in &node.requirements {
            let relationship = &requirement.relationship;
            if requirement.target.is_some() && self.is_new(relationship, &node.node_type) {
                let target = requirement.target.as_ref();
                let target = target.and_then(|name| self.topology.nodes.get(name));
                self.relationship(relationship, Some(node), target.map(|node| &**node));
            }
        }
        self.requirements(node);
    }

    fn relationship(
        &mut self,
        relationship: &'a RelationshipTemplate,
        source: Option<&'a NodeTemplate>,
        target: Option<&'a NodeTemplate>,
    ) {
        let within = source.filter(|node| node.nested_in.is_some());
        let owner = Owner::Relationship {
            relationship,
            source,
            target,
        };
        let subject = || match &relationship.name {
            Some(name) => format!("relationship template `{name}`"),
            None => format!("relationship of type `{}`", relationship.type_name),
        };
        if self.is_new(&relationship.properties, &relationship.relationship_type) {
            self.properties(&relationship.properties, owner, within, &subject);
        }
        if self.is_new(&relationship.operations, &relationship.relationship_type) {
            self.operations(&relationship.operations, owner, source, &subject);
        }
    }

    pub(super) fn properties(
        &mut self,
        properties: &IndexMap<Arc<str>, Property>,
        owner: Owner<'_>,
        within: Option<&NodeTemplate>,
        of: &dyn Fn() -> String,
    ) {
        for (name, property) in properties {
            let definition = property.definition.as_ref();
            // Messages must not show parts of a secret.
            if definition.is_some_and(|definition| definition.is_sensitive()) {
                continue;
            }
            let subject = || format!("property `{name}` of {}", of());
            let place = ValuePlace {
                is_default: !property.set_on_template,
                ..ValuePlace::new(owner, within, property.span, &subject)
            };
            self.value(&property.value, place);
        }
    }

    /// Reports requirements that resemble one of the type and are not declared.
    fn requirements(&mut self, node: &'a NodeTemplate) {
        let declared = &node.node_type.requirements;
        for requirement in &node.requirements {
            let name = &requirement.name;
            if declared.contains_key(name) || requirement.definition.is_some() {
                continue;
            }
            let Some(hint) = did_you_mean(name, declared.keys().map(|name| &**name)) else {
                continue;
            };
            let message = format!(
                "node template `{}` states the requirement `{name}`, which its type `{}` does not declare",
                node.name, node.type_name
            );
            let span = requirement
                .stated
                .as_ref()
                .map_or(requirement.span, |it| it.span);
            self.error(
                Check::UndeclaredRequirement,
                message,
                span,
                name,
                Some(hint),
            );
        }
    }

    pub(super) fn operations(
        &mut self,
        operations: &'a Operations,
        owner: Owner<'a>,
        node: Option<&'a NodeTemplate>,
        of: &dyn Fn() -> String,
    ) {
        for operation in operations.iter() {
            self.operation(operation, owner, node, of);
        }
    }
}
