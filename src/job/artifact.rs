//! Artifacts that implement operations: the inputs and arguments they add to a task, and the checks of
//! their outputs.

use std::sync::Arc;

use super::evaluation::Evaluation;
use super::task::Task;
use crate::tosca::{Artifact, Operation, PropertyDef, check_output};
use crate::value::{Handle, Map, Value};

/// The metadata key that passes properties as arguments.
const INPUT_MATCH_KEY: &str = "input_match";

/// The metadata key that stores outputs in attributes.
const OUTPUT_MATCH_KEY: &str = "output_match";

/// Properties that are templates for the result of a run. They are evaluated after it.
const RESULT_TEMPLATES: &[&str] = &["resultTemplate", "outputsTemplate", "done"];

impl Evaluation<'_> {
    /// Returns the artifact that an operation on an entity executes.
    pub(super) fn executed_artifact(
        &self,
        target: Handle,
        operation: &Operation,
    ) -> Option<Handle> {
        let implementation = operation.implementation.as_ref()?;
        let primary = implementation.primary.as_ref()?;
        self.topology.artifact_of(target, &primary.name)
    }

    /// Adds the properties of the executed artifact as task inputs, unless the operation has inputs of
    /// the same names.
    ///
    /// If the target has no artifacts of its own, as with relationships, values are copied as written.
    pub(super) fn add_artifact_inputs(
        &self,
        artifact: Option<Handle>,
        operation: &Operation,
        inputs: &mut Map,
    ) {
        let implementation = operation.implementation.as_ref();
        let Some(primary) = implementation.and_then(|it| it.primary.as_ref()) else {
            return;
        };
        let described = self.described(artifact).unwrap_or(primary);
        for (name, property) in &*described.properties {
            if inputs.contains_key(name) || &**name == "className" {
                continue;
            }
            let as_written =
                artifact.is_none() || RESULT_TEMPLATES.contains(&&**name) || !is_plain(name);
            let value = if as_written {
                let definition = property.definition.as_ref();
                let secret = definition.is_some_and(|definition| definition.is_sensitive());
                property.value.clone().sensitive_if(secret)
            } else {
                path(format!("$implementation::{name}"))
            };
            inputs.insert(Arc::clone(name), value);
        }
    }

    /// Assembles the input `arguments`, unless the operation defines it (rule U-k).
    pub(super) fn add_arguments(
        &self,
        target: Handle,
        artifact: Option<Handle>,
        operation: &Operation,
        inputs: &mut Map,
    ) {
        if inputs.contains_key("arguments") {
            return;
        }
        let artifact = self.described(artifact);
        let execute = artifact.and_then(|artifact| artifact.execute());
        let mut arguments = execute.map_or_else(Map::new, |execute| execute.inputs.clone());
        let matching = artifact.into_iter().flat_map(|it| &*it.properties);
        let is_marked = |def: &PropertyDef| def.flag(INPUT_MATCH_KEY);
        let marked = matching.filter(|(_, it)| it.definition.as_deref().is_some_and(is_marked));
        for (name, _) in marked {
            arguments.insert(Arc::clone(name), path(format!("$implementation::{name}")));
        }
        let node = self.topology.entity(target).node();
        let own = node.into_iter().flat_map(|node| &*node.template.properties);
        let is_meant =
            |def: &PropertyDef| matches_artifact(INPUT_MATCH_KEY, def, artifact, execute);
        for (name, _) in own.filter(|(_, it)| it.definition.as_deref().is_some_and(is_meant)) {
            arguments.insert(Arc::clone(name), path(format!(".::{name}")));
        }
        let names: Vec<Arc<str>> = if let Some(listed) = operation.metadata.get("arguments") {
            words(listed).into_iter().map(Arc::from).collect()
        } else {
            let declared = execute.into_iter().flat_map(|it| it.input_defs.keys());
            arguments.keys().chain(declared).cloned().collect()
        };
        for name in names {
            if inputs.contains_key(&name) {
                arguments.insert(Arc::clone(&name), path(format!("$inputs::{name}")));
            }
        }
        inputs.insert("arguments".into(), Value::from(arguments));
    }

    /// Returns the problems found in the outputs of a run.
    pub(super) fn output_problems(&self, operation: &Operation, outputs: &Map) -> Vec<String> {
        let types = &self.topology.service().types;
        let mut wrong = Vec::new();
        for (name, def) in &operation.output_defs {
            match outputs.get(name) {
                Some(value) => wrong.extend(check_output(types, def, value)),
                None if def.required && def.default.is_none() => {
                    wrong.push(format!("the required output `{name}` is missing"));
                }
                None => {}
            }
        }
        wrong
    }

    /// Whether an output of a task sets the attribute of the same name. The attribute's metadata decides.
    pub(super) fn sets_attribute(&self, task: &Task, name: &str) -> bool {
        let Some(node) = self.topology.entity(task.spec.target).node() else {
            return false;
        };
        let attribute = node.template.attributes.get(name);
        let definition = attribute.and_then(|attribute| attribute.definition.as_deref());
        let artifact = self.described(task.spec.artifact);
        let execute = artifact.and_then(|artifact| artifact.execute());
        let tool_key = task.spec.configurator.output_metadata();
        definition.is_some_and(|definition| {
            tool_key.is_some_and(|key| definition.flag(key))
                || matches_artifact(OUTPUT_MATCH_KEY, definition, artifact, execute)
        })
    }

    fn described(&self, artifact: Option<Handle>) -> Option<&Artifact> {
        let artifact = self.topology.entity(artifact?).artifact()?;
        Some(artifact)
    }
}

/// Whether a name can be used in an expression path without quoting.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.chars().all(is_plain)
}

fn path(text: String) -> Value {
    Value::map([("eval", Value::from(text))])
}

fn words(value: &Value) -> Vec<&str> {
    match value.as_list() {
        Some(items) => items.iter().filter_map(Value::as_str).collect(),
        None => value.as_str().into_iter().collect(),
    }
}

/// Whether a property or attribute of a node is matched with an artifact by its metadata: with any
/// artifact, with a named one, or with those whose `execute` has a common key.
fn matches_artifact(
    key: &str,
    definition: &PropertyDef,
    artifact: Option<&Artifact>,
    execute: Option<&Operation>,
) -> bool {
    let Some(mark) = definition.metadata.get(key) else {
        return false;
    };
    if let Some(flag) = mark.as_bool() {
        return flag;
    }
    let required_type = words(mark);
    let keys = execute.and_then(|execute| execute.metadata.get(key));
    let mut keys = keys.map_or_else(Vec::new, words).into_iter();
    artifact.is_some_and(|artifact| required_type.contains(&&*artifact.name))
        || keys.any(|key| required_type.contains(&key))
}
