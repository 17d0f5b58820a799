//! Merges the interfaces that types and templates define, and finishes them as operations.
//!
//! [`InterfaceDrafts::merge`] adds the definitions of one type or template to those of its ancestors.
//! [`InterfaceDrafts::finish`] resolves the implementations of the result. Interfaces that a template does
//! not change are shared with its type, not copied.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::name::{InterfaceName, OperationName, OperationRef, TypeName};
use crate::text::did_you_mean;
use crate::value::Map;
use crate::yaml::{MapEntry, Mapping, Node};

use super::definition::Defs;
use super::implementation::ArtifactScope;
use super::interface_draft::{
    InterfaceDraft, InterfaceDrafts, OperationDraft, OperationParts, ScopedNode, input_value,
};
use super::keys::{INTERFACE, INTERFACE_DEFAULTS, OPERATION, OUTPUT};
use super::operation::{
    Interface, Operation, Operations, short_interface_name, type_of_short_name,
};
use super::scope::{TypeScope, description, values_at};
use super::section::TypeSection;
use super::types::Types;

/// The entity that defines an interface. A type may introduce operations, a template only uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinitionSource {
    Type,
    Template,
}

impl InterfaceDrafts {
    /// Merges the `interfaces` of a type or a template over those of its ancestors.
    pub(super) fn merge(
        &mut self,
        scope: TypeScope<'_>,
        owner: &str,
        node: &Node,
        source: DefinitionSource,
    ) {
        let Some(map) = scope.map(node, || format!("`interfaces` of {owner}")) else {
            return;
        };
        for (name, entry) in map {
            let name: Arc<str> = short_interface_name(name).into();
            let subject = format!("interface `{name}` of {owner}");
            let Some(definition) = entry.value.as_map() else {
                let message = format!("{subject} must be a map, not {}", entry.value.kind_name());
                scope
                    .problems()
                    .error(Check::WrongKind, message, entry.key_span);
                continue;
            };
            let mut merger = InterfaceMerger {
                scope,
                subject: &subject,
                source,
            };
            let before = self.0.get(&name).map(|draft| InterfaceDraft::clone(draft));
            if let Some(draft) = merger.interface(&name, entry, definition, before) {
                self.0.insert(name, Arc::new(draft));
            }
        }
    }

    /// Resolves the drafts to operations.
    ///
    /// `base` holds the drafts that these started from, and their operations. Unchanged interfaces and
    /// operations are shared with it.
    pub(super) fn finish(
        &self,
        types: &Types,
        owner: &str,
        artifacts: &ArtifactScope<'_>,
        base: Option<(&Self, &Operations)>,
    ) -> Operations {
        let empty = OperationParts::default();
        let shared = self.0.get("defaults");
        let shared = shared.map_or(&empty, |draft| &*draft.shared);
        let same_defaults = |base: &Self| match (self.0.get("defaults"), base.0.get("defaults")) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        let base = base.filter(|(base, _)| !artifacts.has_own() && same_defaults(base));
        let mut operations = Operations::default();
        operations.interfaces.reserve(self.0.len());
        for (name, draft) in &self.0 {
            if &**name == "defaults" {
                continue;
            }
            let key = InterfaceName::new(Arc::clone(name));
            let known = base.and_then(|(base, finished)| {
                Some((base.0.get(name)?, finished.interfaces.get(&key)?))
            });
            let interface = match known {
                Some((other, finished)) if Arc::ptr_eq(draft, other) => Arc::clone(finished),
                _ => {
                    let finisher = InterfaceFinisher {
                        types,
                        owner,
                        artifacts,
                        shared,
                        base: known
                            .filter(|(other, _)| Arc::ptr_eq(&draft.shared, &other.shared))
                            .map(|(other, finished)| (&**other, &**finished)),
                    };
                    Arc::new(finisher.interface(&key, draft))
                }
            };
            operations.interfaces.insert(key, interface);
        }
        operations
    }
}

/// Whether an interface has another type than the one that its name stands for.
fn is_own_type(name: &str, draft: &InterfaceDraft) -> bool {
    let usual = type_of_short_name(name);
    draft.type_name.as_ref().map(TypeName::as_str) != usual
}

struct InterfaceMerger<'a> {
    scope: TypeScope<'a>,
    subject: &'a str,
    source: DefinitionSource,
}

impl InterfaceMerger<'_> {
    fn interface(
        &mut self,
        name: &str,
        entry: &MapEntry,
        definition: &Mapping,
        before: Option<InterfaceDraft>,
    ) -> Option<InterfaceDraft> {
        let is_new = before.is_none();
        let mut draft = before.unwrap_or_else(|| InterfaceDraft {
            type_name: type_of_short_name(name).map(TypeName::from),
            shared: Arc::default(),
            operations: IndexMap::default(),
            requirements: Vec::new(),
            span: entry.key_span,
        });
        if name == "defaults" {
            self.scope.problems().report_unknown_keys(
                &INTERFACE_DEFAULTS,
                self.subject,
                definition,
            );
            self.merge_parts(&mut draft, definition, true);
            return Some(draft);
        }
        if let Some(node) = definition.get("type") {
            draft.type_name = node.as_str().map(TypeName::from).or(draft.type_name);
        } else if draft.type_name.is_none()
            && self.scope.find(name, TypeSection::Interface).is_some()
        {
            draft.type_name = Some(TypeName::from(name));
        }
        let known = self.known_operations(name, &draft);
        if known.is_none() && is_new {
            self.unknown_interface(name, entry.key_span);
            return None;
        }
        self.merge_parts(
            &mut draft,
            definition,
            self.source == DefinitionSource::Type,
        );
        self.requirements(&mut draft, definition);
        let known = known.unwrap_or_default();
        let is_strict = self.is_strict(name, definition, &draft);
        for (operation, entry) in self.operations(definition) {
            let is_known = known.iter().any(|known| known == operation)
                || draft.operations.contains_key(&**operation);
            if is_strict && !is_known {
                self.unknown_operation(operation, entry.key_span, &known);
                continue;
            }
            let operation_name = OperationName::new(Arc::clone(operation));
            let before = draft.operations.get(&operation_name);
            let before = before.map(|definition| OperationDraft::clone(definition));
            if let Some(now) = self.operation(operation, entry, before) {
                draft.operations.insert(operation_name, Arc::new(now));
            }
        }
        Some(draft)
    }

    /// Whether an interface accepts only operations that its interface type declares.
    ///
    /// As in Unfurl, a type adds operations to `Install` if the interface has its `type` written.
    fn is_strict(&self, name: &str, definition: &Mapping, draft: &InterfaceDraft) -> bool {
        let has_type = || definition.get("type").is_some() || is_own_type(name, draft);
        match name {
            "Mock" => false,
            "Standard" | "Configure" => true,
            "Install" if !has_type() => true,
            _ => self.source == DefinitionSource::Template,
        }
    }

    /// Returns the operations that the interface type declares. `None` if there is no such type.
    fn known_operations(&self, name: &str, draft: &InterfaceDraft) -> Option<Vec<Arc<str>>> {
        if name == "Mock" {
            return Some(Vec::new());
        }
        let type_name = draft.type_name.as_ref()?;
        let key = self
            .scope
            .require(type_name.as_str(), TypeSection::Interface, draft.span)?;
        let found = self.scope.types.interface_type_of(key)?;
        Some(found.operations.iter().map(OperationName::shared).collect())
    }

    fn unknown_interface(&self, name: &str, span: Span) {
        let message = format!("{} is not declared", self.subject);
        let well_known = ["Standard", "Configure", "Install", "Mock", "defaults"];
        let problem = Diagnostic::error(message)
            .check(Check::UnknownType)
            .label(span, "");
        let usual = "declare it on the type, with the `type` of the interface";
        let help = did_you_mean(name, well_known);
        self.scope
            .report(problem.help(help.unwrap_or_else(|| usual.to_owned())));
    }

    fn unknown_operation(&self, name: &str, span: Span, known: &[Arc<str>]) {
        let message = format!("{} has no operation `{name}`", self.subject);
        let mut problem = Diagnostic::error(message)
            .check(Check::UnknownOperation)
            .label(span, "");
        problem.help = did_you_mean(name, known.iter().map(|known| &**known)).or_else(|| {
            let names: Vec<_> = known.iter().map(|known| format!("`{known}`")).collect();
            (!names.is_empty()).then(|| format!("its operations are {}", names.join(", ")))
        });
        self.scope.report(problem);
    }

    /// Returns the operations, whether they are under `operations` or directly in the interface.
    fn operations<'m>(&self, definition: &'m Mapping) -> Vec<(&'m Arc<str>, &'m MapEntry)> {
        let direct = definition.iter().filter(|(key, _)| !INTERFACE.has_key(key));
        let nested = ["operations", "notifications"]
            .into_iter()
            .filter_map(|key| definition.get(key))
            .filter_map(|node| {
                if node.as_map().is_none() && !node.is_null() {
                    let message = format!("the operations of {} must be a map", self.subject);
                    self.scope
                        .problems()
                        .error(Check::WrongKind, message, node.span());
                }
                node.as_map()
            })
            .flat_map(Mapping::iter);
        direct.chain(nested).collect()
    }

    fn requirements(&self, draft: &mut InterfaceDraft, definition: &Mapping) {
        let Some(node) = definition.get("requirements") else {
            return;
        };
        for (name, span) in super::types::strings(Some(node)) {
            let key = self.scope.require(&name, TypeSection::Relationship, span);
            let name = key.map(|key| self.scope.types.name(key));
            if let Some(name) = name.filter(|name| !draft.requirements.contains(name)) {
                draft.requirements.push(name);
            }
        }
    }

    /// Merges the settings that all operations share. Leaves the draft shared if the definition has none.
    fn merge_parts(&self, draft: &mut InterfaceDraft, definition: &Mapping, splits: bool) {
        let has_key = |key: &&str| definition.get(key).is_some();
        if ["inputs", "outputs", "implementation"].iter().any(has_key) {
            self.shared_parts(Arc::make_mut(&mut draft.shared), definition, splits);
        }
    }

    fn shared_parts(&self, shared: &mut OperationParts, definition: &Mapping, splits: bool) {
        if let Some(inputs) = definition.get("inputs") {
            self.inputs(shared, inputs, splits);
        }
        shared.outputs.extend(values_at(definition, "outputs"));
        self.output_defs(shared, definition);
        if let Some(node) = definition
            .get("implementation")
            .filter(|node| !node.is_null())
        {
            shared.implementation = Some(self.scoped_node(node));
        }
    }

    fn scoped_node(&self, node: &Node) -> ScopedNode {
        ScopedNode {
            node: node.clone(),
            namespace: self.scope.namespace,
        }
    }

    /// Reads inputs.
    ///
    /// If `splits` is true, a map with a `type` is a definition, and its default is the value of the input.
    /// Otherwise every entry is a value.
    fn inputs(&self, shared: &mut OperationParts, node: &Node, splits: bool) {
        let Some(map) = self
            .scope
            .map(node, || format!("`inputs` of {}", self.subject))
        else {
            return;
        };
        let spans = map
            .iter()
            .map(|(name, entry)| (Arc::clone(name), entry.value.span()));
        shared.input_spans.extend(spans);
        if !splits {
            let entries = map.iter();
            let value = |(name, entry): (&Arc<str>, &MapEntry)| {
                (Arc::clone(name), input_value(name, entry))
            };
            shared.inputs.extend(entries.map(value));
            return;
        }
        for (name, entry) in map {
            let stated_type = entry.value.get("type").and_then(Node::as_str);
            if stated_type.is_none() {
                shared
                    .inputs
                    .insert(Arc::clone(name), input_value(name, entry));
                continue;
            }
            let subject = format!("input `{name}` of {}", self.subject);
            let base = shared.input_defs.get(name);
            let Some(def) = self.scope.property_def(&subject, name, entry, base) else {
                continue;
            };
            if let Some(default) = &def.default {
                shared.inputs.insert(Arc::clone(name), default.clone());
            }
            shared.input_defs.insert(Arc::clone(name), Arc::new(def));
        }
    }

    /// Reads outputs that are maps with a `type`: those are definitions.
    fn output_defs(&self, shared: &mut OperationParts, definition: &Mapping) {
        let outputs = definition.get("outputs").and_then(Node::as_map);
        for (name, entry) in outputs.into_iter().flatten() {
            if entry.value.get("type").and_then(Node::as_str).is_none() {
                continue;
            }
            let subject = format!("output `{name}` of {}", self.subject);
            let base = shared.output_defs.get(name);
            let def = self.scope.definition(&OUTPUT, &subject, name, entry, base);
            if let Some(def) = def {
                shared.output_defs.insert(Arc::clone(name), Arc::new(def));
            }
        }
    }

    fn operation(
        &self,
        name: &str,
        entry: &MapEntry,
        before: Option<OperationDraft>,
    ) -> Option<OperationDraft> {
        let node = &entry.value;
        let mut definition =
            before.unwrap_or_else(|| OperationDraft::new(entry.key_span, self.scope.namespace));
        definition.span = entry.key_span;
        definition.namespace = self.scope.namespace;
        definition.removed = false;
        // Descriptors of network functions (NFV) write `[]` for operations that do nothing.
        if node.is_null() || node.as_seq().is_some_and(<[Node]>::is_empty) {
            definition.uses_shared = true;
        } else if let Some(map) = node.as_map() {
            self.operation_map(name, map, &mut definition);
        } else if let Some(text) = node.as_str() {
            definition.removed = text == "not_implemented";
            definition.uses_shared = false;
            definition.own.implementation = Some(self.scoped_node(node));
        } else {
            self.scope.problems().report(node.type_mismatch(
                format_args!("operation `{name}` of {}", self.subject),
                "a string or a map",
            ));
            return None;
        }
        Some(definition)
    }

    fn operation_map(&self, name: &str, map: &Mapping, definition: &mut OperationDraft) {
        let subject = format!("operation `{name}` of {}", self.subject);
        self.scope
            .problems()
            .report_unknown_keys(&OPERATION, &subject, map);
        let text_at = |key| self.scope.text_at(map, key, || subject.clone());
        self.shared_parts(&mut definition.own, map, true);
        match map.get("implementation") {
            Some(node) if node.is_null() => definition.uses_shared = true,
            Some(node) => {
                definition.uses_shared = false;
                definition.removed = node.as_str() == Some("not_implemented");
            }
            None => {}
        }
        definition.invoke = text_at("invoke").or_else(|| definition.invoke.take());
        definition.entry_state = text_at("entry_state").or_else(|| definition.entry_state.take());
        definition.metadata.extend(values_at(map, "metadata"));
        definition.description = description(map).or_else(|| definition.description.take());
        if ["timeout", "operation_host", "environment"]
            .iter()
            .any(|key| map.get(key).is_some())
        {
            definition.extras = Some(Node::new(
                crate::yaml::NodeKind::Map(map.clone()),
                Span::NONE,
                None,
            ));
        }
    }
}

struct InterfaceFinisher<'a> {
    types: &'a Types,
    owner: &'a str,
    artifacts: &'a ArtifactScope<'a>,
    /// The settings that `interfaces.defaults` has for all interfaces.
    shared: &'a OperationParts,
    /// An interface with the same shared settings, and its finished form, whose operations can be reused.
    base: Option<(&'a InterfaceDraft, &'a Interface)>,
}

impl InterfaceFinisher<'_> {
    fn interface(&self, name: &InterfaceName, draft: &InterfaceDraft) -> Interface {
        let operations = draft
            .operations
            .iter()
            .filter(|(_, definition)| !definition.removed);
        let has_default = !draft.shared.inputs.is_empty()
            || !self.shared.inputs.is_empty()
            || draft.shared.implementation.is_some()
            || self.shared.implementation.is_some();
        Interface {
            name: name.clone(),
            type_name: draft.type_name.clone(),
            operations: operations
                .map(|(key, definition)| {
                    let operation = self.reusable_operation(key, definition).unwrap_or_else(|| {
                        let reference = OperationRef::new(name.clone(), key.clone());
                        Arc::new(self.operation(reference, draft, definition))
                    });
                    (key.clone(), operation)
                })
                .collect(),
            default: has_default.then(|| {
                let reference = OperationRef::new(name.clone(), "default");
                let definition = OperationDraft {
                    uses_shared: true,
                    ..OperationDraft::new(draft.span, super::types::ROOT)
                };
                Arc::new(self.operation(reference, draft, &definition))
            }),
            requirements: draft.requirements.clone(),
            span: draft.span,
        }
    }

    /// Returns the finished operation of the known interface if its draft is the same.
    fn reusable_operation(
        &self,
        name: &OperationName,
        definition: &Arc<OperationDraft>,
    ) -> Option<Arc<Operation>> {
        let (draft, finished) = self.base?;
        let same = Arc::ptr_eq(draft.operations.get(name)?, definition);
        same.then(|| finished.operations.get(name).cloned())?
    }

    /// Returns the effective implementation of an operation: its own, or the shared one.
    fn implementation<'a>(
        &'a self,
        draft: &'a InterfaceDraft,
        definition: &'a OperationDraft,
    ) -> Option<&'a ScopedNode> {
        let shared = [&draft.shared, self.shared]
            .into_iter()
            .find_map(|layer| layer.implementation.as_ref());
        let own = definition.own.implementation.as_ref();
        if definition.uses_shared {
            shared.or(own)
        } else {
            own.or(shared)
        }
    }

    fn operation(
        &self,
        reference: OperationRef,
        draft: &InterfaceDraft,
        definition: &OperationDraft,
    ) -> Operation {
        let layers = [self.shared, &draft.shared, &definition.own];
        let mut inputs = Map::default();
        let mut input_spans = IndexMap::new();
        let mut input_defs = Defs::default();
        let mut outputs = Map::default();
        let mut output_defs = Defs::default();
        for layer in layers {
            inputs.extend(layer.inputs.iter().map(cloned));
            input_spans.extend(layer.input_spans.iter().map(cloned));
            input_defs.extend(layer.input_defs.iter().map(cloned));
            outputs.extend(layer.outputs.iter().map(cloned));
            output_defs.extend(layer.output_defs.iter().map(cloned));
        }
        let text = self.implementation(draft, definition);
        let base_dir = match text {
            Some(text) => self.types.base_dir_at(text.node.span(), text.namespace),
            None => self
                .types
                .base_dir_at(definition.span, definition.namespace),
        };
        let subject = format!("operation `{reference}` of {}", self.owner);
        let implementation = text.and_then(|text| {
            let scope = TypeScope::of(self.types, text.namespace);
            let extras = definition.extras.as_ref();
            let mut found = scope.implementation(&subject, &text.node, extras, self.artifacts)?;
            found.name_inline_artifact(&reference, &text.node);
            Some(found)
        });
        Operation {
            implementation,
            inputs,
            input_spans,
            input_defs,
            outputs,
            output_defs,
            entry_state: definition.entry_state.clone(),
            invoke: definition.invoke.clone(),
            metadata: definition.metadata.clone(),
            description: definition.description.clone(),
            span: definition.span,
            base_dir: Arc::clone(base_dir),
            reference,
        }
    }
}

fn cloned<V: Clone>((name, value): (&Arc<str>, &V)) -> (Arc<str>, V) {
    (Arc::clone(name), value.clone())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestTemplate, read_template};

    /// Lists each operation with the kind, the class and the inputs of its implementation.
    fn operations(case: &TestTemplate, node: &str) -> String {
        let operations = case.node(node).operations.iter().map(|operation| {
            let subject = operation.implementation.as_ref().map_or_else(
                || "nothing".to_owned(),
                |found| format!("{:?} as {}", found.kind, found.class_name()),
            );
            let inputs: Vec<_> = operation
                .inputs
                .iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect();
            format!("{}: {subject} [{}]", operation.reference, inputs.join(", "))
        });
        operations.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_form_of_an_operation_is_understood() {
        let case = read_template(
            "
topology_template:
  node_templates:
    a:
      type: tosca:Root
      artifacts: {script: {type: unfurl.artifacts.ShellExecutable, file: run.sh}, plain: run.sh}
      interfaces:
        Standard:
          inputs: {shared: 1}
          operations:
            create: echo hi
            configure: {implementation: Template, inputs: {own: 2}}
            start: {implementation: {className: unfurl.configurators.shell.ShellConfigurator, timeout: 5, operation_host: HOST, environment: {A: b}}}
            stop: {implementation: {primary: script, dependencies: [plain, {file: x.tgz}]}}
            delete: {implementation: {primary: plain}}
        tosca.interfaces.relationship.Configure:
          add_source: {implementation: {primary: {file: inline.sh, type: unfurl.artifacts.ShellExecutable}}}
          add_target: unfurl.configurators.dns.DNSConfigurator
        Install:
          check: {invoke: Standard.configure, metadata: {x: 1}}
",
        );
        assert_eq!(case.report(), "");
        insta::assert_snapshot!(operations(&case, "a"), @r#"
        Standard.create: Command("echo hi") as unfurl.configurators.shell.ShellConfigurator [shared=1]
        Standard.configure: Configurator("Template") as unfurl.configurators.TemplateConfigurator [shared=1, own=2]
        Standard.start: Configurator("Shell") as unfurl.configurators.shell.ShellConfigurator [shared=1]
        Standard.stop: Configurator("Shell") as unfurl.configurators.shell.ShellConfigurator [shared=1]
        Standard.delete: Command("run.sh") as unfurl.configurators.shell.ShellConfigurator [shared=1]
        Install.check: nothing []
        Configure.add_source: Configurator("Shell") as unfurl.configurators.shell.ShellConfigurator []
        Configure.add_target: Unsupported("unfurl.configurators.dns.DNSConfigurator") as unfurl.configurators.dns.DNSConfigurator []
        "#);
        let a = case.node("a");
        let start = a.operations.get("Standard", "start").expect("it is there");
        let start = start.implementation.as_ref().expect("it has a class");
        assert_eq!(start.timeout, Some(std::time::Duration::from_secs(5)));
        assert_eq!(start.operation_host.as_deref(), Some("HOST"));
        let by_type = a
            .operations
            .get("tosca.interfaces.node.lifecycle.Standard", "create");
        assert!(by_type.is_some());
        assert!(a.operations.implemented("Install", "check"));
        assert!(!a.operations.implemented("Install", "discover"));
    }

    #[test]
    fn artifacts_stated_in_place_stand_among_those_of_the_node() {
        let case = read_template(
            "
node_types:
  T:
    derived_from: tosca.nodes.Root
    interfaces:
      Standard:
        create: {implementation: {primary: {type: unfurl.artifacts.ShellExecutable, file: a.sh}}}
        delete: {implementation: {primary: {type: unfurl.artifacts.ShellExecutable, file: b.sh}}}
topology_template:
  node_templates:
    shared: {type: T}
    same: {type: T, properties: {}}
    other:
      type: T
      artifacts: {own: c.sh}
      interfaces: {Standard: {create: echo hi, start: {implementation: {primary: {file: d.sh}}}}}
",
        );
        assert_eq!(case.report(), "");
        let names = |node: &str| {
            let node = case.node(node);
            let names = node.artifacts.keys().map(ToString::to_string);
            names.collect::<Vec<_>>().join(" ")
        };
        let stated = "__primary_Standard_create __primary_Standard_delete";
        assert_eq!(names("shared"), stated);
        let shared = [case.node("shared"), case.node("same")].map(|node| node.artifacts.clone());
        assert!(std::sync::Arc::ptr_eq(&shared[0], &shared[1]));
        let own = "own __primary_Standard_delete __primary_Standard_start";
        assert_eq!(names("other"), own);
    }

    #[test]
    fn outputs_with_a_type_are_definitions() {
        let case = read_template(
            "
topology_template:
  node_templates:
    a:
      type: tosca.nodes.Root
      interfaces:
        Standard:
          create:
            implementation: echo hi
            outputs: {plain: port, typed: {type: integer, mapping: [SELF, port]}}
",
        );
        assert_eq!(case.report(), "");
        let create = case.node("a").operations.get("Standard", "create");
        let create = create.expect("it is stated").clone();
        let typed: Vec<_> = create.output_defs.keys().map(|name| &**name).collect();
        assert_eq!(typed, ["typed"]);
        assert_eq!(create.outputs.len(), 2);
    }

    #[test]
    fn the_class_that_execute_names_runs_an_artifact() {
        let case = read_template(
            "
artifact_types:
  Py:
    derived_from: unfurl.artifacts.ShellExecutable
    interfaces: {Executable: {execute: {implementation: {className: 'service:Py.run'}}}}
  Plain:
    derived_from: unfurl.artifacts.ShellExecutable
    interfaces: {Executable: {execute: {inputs: {a: 1}}}}
topology_template:
  node_templates:
    a:
      type: tosca.nodes.Root
      interfaces:
        Standard:
          create: {implementation: {primary: {type: Py, file: a.sh}}}
          start: {implementation: {primary: {type: Plain, file: a.sh}}}
",
        );
        assert_eq!(case.report(), "");
        insta::assert_snapshot!(operations(&case, "a"), @r#"
        Standard.create: Unsupported("service:Py.run") as service:Py.run []
        Standard.start: Configurator("Shell") as unfurl.configurators.shell.ShellConfigurator []
        "#);
    }

    #[test]
    fn defaults_fill_operations_that_say_nothing() {
        let case = read_template(
            "
node_types:
  T:
    interfaces:
      defaults: {implementation: Template, inputs: {x: 1}, outputs: {o: attr}}
      Install: {check: }
      Standard: {create: , configure: {inputs: {x: 2}}, delete: echo}
topology_template:
  node_templates:
    a: {type: T}
    b: {type: T, interfaces: {defaults: {implementation: Delegate}, Standard: {start: }}}
",
        );
        assert_eq!(case.report(), "");
        insta::assert_snapshot!(operations(&case, "a"), @r#"
        Standard.create: Configurator("Template") as unfurl.configurators.TemplateConfigurator [x=1]
        Standard.configure: Configurator("Template") as unfurl.configurators.TemplateConfigurator [x=2]
        Standard.delete: Command("echo") as unfurl.configurators.shell.ShellConfigurator [x=1]
        Install.check: Configurator("Template") as unfurl.configurators.TemplateConfigurator [x=1]
        "#);
        insta::assert_snapshot!(operations(&case, "b"), @r#"
        Standard.create: Configurator("Delegate") as unfurl.configurators.DelegateConfigurator [x=1]
        Standard.configure: Configurator("Delegate") as unfurl.configurators.DelegateConfigurator [x=2]
        Standard.delete: Command("echo") as unfurl.configurators.shell.ShellConfigurator [x=1]
        Standard.start: Configurator("Delegate") as unfurl.configurators.DelegateConfigurator [x=1]
        Install.check: Configurator("Delegate") as unfurl.configurators.DelegateConfigurator [x=1]
        "#);
    }

    #[test]
    fn derived_types_refine_and_remove_operations() {
        let case = read_template(
            "
node_types:
  Base:
    interfaces:
      Standard:
        inputs: {foo: {type: string, default: base}, only: base}
        operations: {create: {implementation: echo, inputs: {foo: create}}, stop: echo, delete: echo}
  Derived:
    derived_from: Base
    interfaces:
      Standard:
        inputs: {foo: derived, bar: derived}
        operations: {create: {inputs: {bar: derived create}}, stop: not_implemented}
topology_template:
  node_templates:
    a: {type: Derived}
    b: {type: Derived, interfaces: {Standard: {delete: not_implemented, stop: exit 0}}}
",
        );
        assert_eq!(case.report(), "");
        insta::assert_snapshot!(operations(&case, "a"), @r#"
        Standard.create: Command("echo") as unfurl.configurators.shell.ShellConfigurator [foo=create, only=base, bar=derived create]
        Standard.delete: Command("echo") as unfurl.configurators.shell.ShellConfigurator [foo=derived, only=base, bar=derived]
        "#);
        insta::assert_snapshot!(operations(&case, "b"), @r#"
        Standard.create: Command("echo") as unfurl.configurators.shell.ShellConfigurator [foo=create, only=base, bar=derived create]
        Standard.stop: Command("exit 0") as unfurl.configurators.shell.ShellConfigurator [foo=derived, only=base, bar=derived]
        "#);
    }

    #[test]
    fn a_template_shares_the_operations_that_it_does_not_change() {
        let case = read_template(
            "
node_types:
  T: {interfaces: {Standard: {configure: echo, delete: {inputs: {x: 1}, implementation: echo}}}}
topology_template:
  node_templates:
    a: {type: T}
    b: {type: T, interfaces: {Standard: {create: echo, delete: {inputs: {y: 2}}}}}
    c: {type: T, interfaces: {Standard: {inputs: {z: 3}}}}
",
        );
        let shares = |node: &str, operation: &str| {
            let get = |node| {
                case.node(node)
                    .operations
                    .get("Standard", operation)
                    .cloned()
            };
            let (own, usual) = (
                get(node).expect("it is there"),
                get("a").expect("it is there"),
            );
            std::sync::Arc::ptr_eq(&own, &usual)
        };
        assert!(shares("b", "configure"));
        assert!(!shares("b", "delete"));
        assert!(!shares("c", "configure"));
        insta::assert_snapshot!(operations(&case, "b"), @r#"
        Standard.configure: Command("echo") as unfurl.configurators.shell.ShellConfigurator []
        Standard.delete: Command("echo") as unfurl.configurators.shell.ShellConfigurator [x=1, y=2]
        Standard.create: Command("echo") as unfurl.configurators.shell.ShellConfigurator []
        "#);
    }

    #[test]
    fn unknown_interfaces_and_operations_are_reported() {
        let case = read_template(
            "
interface_types:
  MyOps: {operations: {test_op: }}
node_types:
  T: {interfaces: {Mine: {type: MyOps, operations: {test_op: echo}}}}
topology_template:
  node_templates:
    a:
      type: T
      interfaces:
        Standard: {badop: , confgure: echo}
        Stadard: {create: echo}
        Mine: {test_op: echo, other: echo}
        Own: {type: MyOps, operations: {test_op: echo}}
        defaults: {create: echo}
        Install: {check: {implementatio: x, implementation: {primry: y}}}
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:11:20: interface `Standard` of node template `a` has no operation `badop`
          hint: its operations are `create`, `configure`, `start`, `stop`, `delete`
        service.yaml:11:29: interface `Standard` of node template `a` has no operation `confgure`
          hint: did you mean `configure`?
        service.yaml:12:9: interface `Stadard` of node template `a` is not declared
          hint: did you mean `Standard`?
        service.yaml:13:31: interface `Mine` of node template `a` has no operation `other`
          hint: its operations are `test_op`
        service.yaml:15:20: interface `defaults` of node template `a` has no key `create`
        service.yaml:16:27: operation `check` of interface `Install` of node template `a` has no key `implementatio`
          hint: did you mean `implementation`?
        service.yaml:16:62: the implementation of operation `Install.check` of node template `a` has no key `primry`
          hint: did you mean `primary`?
        service.yaml:16:61: the implementation of operation `Install.check` of node template `a` has nothing to run
          hint: add a `primary` or a `className`
        ");
        insta::assert_snapshot!(operations(&case, "a"), @r#"
        Install.check: nothing []
        Mine.test_op: Command("echo") as unfurl.configurators.shell.ShellConfigurator []
        Own.test_op: Command("echo") as unfurl.configurators.shell.ShellConfigurator []
        "#);
    }

    #[test]
    fn types_add_operations_to_an_install_interface_whose_type_is_written() {
        let case = read_template(
            "
interface_types:
  Helm: {derived_from: unfurl.interfaces.Install}
node_types:
  T: {derived_from: tosca.nodes.Root, interfaces: {Install: {type: Helm, operations: {execute: echo}}}}
  Sub: {derived_from: T, interfaces: {Install: {operations: {more: echo}}}}
  Plain: {derived_from: tosca.nodes.Root, interfaces: {Install: {type: unfurl.interfaces.Install, operations: {execute: echo}}}}
  Bare: {derived_from: tosca.nodes.Root, interfaces: {Install: {operations: {execute: echo}}}}
topology_template:
  node_templates:
    a: {type: T, interfaces: {Install: {operations: {execute: echo a, other: echo}}}}
    b: {type: Sub}
    c: {type: Plain}
    d: {type: Bare}
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:11:71: interface `Install` of node template `a` has no operation `other`
          hint: its operations are `check`, `discover`, `revert`, `connect`, `restart`
        service.yaml:8:78: interface `Install` of type `Bare` has no operation `execute`
          hint: its operations are `check`, `discover`, `revert`, `connect`, `restart`
        ");
        insta::assert_snapshot!(operations(&case, "a"), @r#"Install.execute: Command("echo a") as unfurl.configurators.shell.ShellConfigurator []"#);
        insta::assert_snapshot!(operations(&case, "b"), @r#"
        Install.execute: Command("echo") as unfurl.configurators.shell.ShellConfigurator []
        Install.more: Command("echo") as unfurl.configurators.shell.ShellConfigurator []
        "#);
        insta::assert_snapshot!(operations(&case, "c"), @r#"Install.execute: Command("echo") as unfurl.configurators.shell.ShellConfigurator []"#);
    }
}
