//! The commands of a model, and the operations that others call.

use std::collections::HashSet;
use std::sync::Arc;

use crate::tosca::{ImplementationKind, TopologyTemplate, WorkflowActivity};
use crate::value::Value;

/// Returns the names of operations that get inputs from a workflow or a delegate.
pub(super) fn called_with_inputs(topology: &TopologyTemplate) -> HashSet<String> {
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
pub(super) fn commands_of(topology: &TopologyTemplate) -> Vec<Arc<str>> {
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
