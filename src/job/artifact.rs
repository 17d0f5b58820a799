//! Artifacts that implement operations: the inputs and arguments they add to a task, and the checks of
//! arguments and outputs.

use std::sync::Arc;

use super::evaluation::Evaluation;
use super::task::Task;
use crate::diagnostic::Span;
use crate::tosca::{
    ArgumentSource, Artifact, OUTPUT_MATCH_KEY, Operation, argument_inputs, argument_sources,
    check_argument, check_output,
};
use crate::value::{Handle, Map, Value};

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
        let node = self.topology.entity(target).node();
        let own = node.into_iter().flat_map(|node| &*node.template.properties);
        let mut arguments = Map::new();
        for (name, source) in argument_sources(artifact, own) {
            let value = match source {
                ArgumentSource::Execute(value) => value.clone(),
                ArgumentSource::Artifact(_) => path(format!("$implementation::{name}")),
                ArgumentSource::Node(_) => path(format!(".::{name}")),
            };
            arguments.insert(Arc::clone(name), value);
        }
        for name in argument_inputs(operation, artifact, &arguments) {
            if inputs.contains_key(&name) {
                arguments.insert(Arc::clone(&name), path(format!("$inputs::{name}")));
            }
        }
        inputs.insert("arguments".into(), Value::from(arguments));
    }

    /// Returns the problems of the arguments that an artifact gets, by the inputs that its `execute` declares.
    pub(super) fn argument_problems(&self, task: &Task, arguments: &Value) -> Vec<String> {
        let execute = self
            .described(task.spec.artifact)
            .and_then(Artifact::execute);
        let (Some(execute), Some(arguments)) = (execute, arguments.reveal().as_map()) else {
            return Vec::new();
        };
        let types = &self.topology.service().types;
        let declared = execute.input_defs.values();
        let given = declared.filter_map(|def| Some((def, arguments.get(&def.name)?)));
        let problems = given.flat_map(|(def, value)| check_argument(types, def, value, Span::NONE));
        problems.map(|problem| problem.message).collect()
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

    /// Returns true if an output of a task sets the attribute of the same name. The attribute's metadata decides.
    pub(super) fn sets_attribute(&self, task: &Task, name: &str) -> bool {
        let Some(node) = self.topology.entity(task.spec.target).node() else {
            return false;
        };
        let attribute = node.template.attributes.get(name);
        let definition = attribute.and_then(|attribute| attribute.definition.as_deref());
        let artifact = self.described(task.spec.artifact);
        let tool_key = task.spec.configurator.output_metadata();
        definition.is_some_and(|definition| {
            tool_key.is_some_and(|key| definition.flag(key))
                || definition.matches(OUTPUT_MATCH_KEY, artifact)
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
