//! The commands of a model, and the operations that others call.

use std::collections::HashSet;
use std::sync::Arc;

use crate::tosca::{ImplementationKind, Operation, TopologyTemplate, WorkflowActivity};
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
    let nodes = topology.nodes.values();
    for operation in distinct(nodes.flat_map(|node| node.operations.iter())) {
        if let Some(Value::Str(name)) = operation.inputs.get("operation") {
            called.extend(name.rsplit('.').next().map(str::to_owned));
        }
        if let Some(invoked) = &operation.invoke {
            called.extend(invoked.rsplit('.').next().map(str::to_owned));
        }
    }
    called
}

/// Returns operations without those that are shared with an earlier entity.
pub(super) fn distinct<'t>(
    operations: impl Iterator<Item = &'t Arc<Operation>>,
) -> impl Iterator<Item = &'t Operation> {
    let mut seen = HashSet::new();
    let is_new = move |operation: &&Arc<Operation>| seen.insert(Arc::as_ptr(operation));
    operations.filter(is_new).map(|operation| &**operation)
}

/// Returns the words of all commands apart from the programs that they run: names of files that they may write.
pub(super) fn command_words(topology: &TopologyTemplate) -> HashSet<Arc<str>> {
    let mut words = HashSet::new();
    let nodes = topology.nodes.values();
    for operation in distinct(nodes.flat_map(|node| node.operations.iter())) {
        for name in ["command", "cmd", "run", "arguments"] {
            let value = operation.inputs.get(name).unwrap_or(&Value::Null);
            add_texts(value, 0, &mut words);
        }
        let kind = operation.implementation.as_ref().map(|it| &it.kind);
        if let Some(ImplementationKind::Command(command)) = kind {
            add_words(command, &mut words);
        }
    }
    words
}

fn add_texts(value: &Value, depth: usize, words: &mut HashSet<Arc<str>>) {
    if depth > 64 {
        return;
    }
    match value {
        Value::Str(text) => add_words(text, words),
        Value::List(items) => {
            // The words of a command in a list, of which the first is the program.
            for item in items.iter().skip(1) {
                if let Value::Str(text) = item {
                    words.insert(Arc::clone(text));
                }
                add_texts(item, depth + 1, words);
            }
        }
        Value::Map(map) => map
            .values()
            .for_each(|item| add_texts(item, depth + 1, words)),
        _ => {}
    }
}

fn add_words(text: &str, words: &mut HashSet<Arc<str>>) {
    let is_part = |at: char| at.is_alphanumeric() || matches!(at, '_' | '-' | '.' | '/');
    let all = text
        .split(|at| !is_part(at))
        .filter(|word| !word.is_empty());
    words.extend(
        all.skip(1)
            .map(|word| Arc::from(word.trim_start_matches("./"))),
    );
}
