//! Finds operations, with what `invoke` makes of them.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::{NodeState, OperationRef};
use crate::tosca::{Implementation, ImplementationKind, Operation, Operations};
use crate::value::{Map, Value};

/// The operations whose interface goes without saying.
const STANDARD: [(&str, &[&str]); 3] = [
    (
        "Standard",
        &["create", "configure", "start", "stop", "delete"],
    ),
    (
        "Install",
        &["check", "discover", "revert", "connect", "restart"],
    ),
    (
        "Configure",
        &[
            "pre_configure_source",
            "pre_configure_target",
            "post_configure_source",
            "post_configure_target",
            "add_source",
            "add_target",
            "target_changed",
            "remove_source",
            "remove_target",
        ],
    ),
];

/// The operation that a user names: `Interface.name`, or the name alone. The interface is empty
/// where any may have it.
pub fn operation_named(text: &str) -> OperationRef {
    if let Some((interface, name)) = text.rsplit_once('.') {
        return OperationRef::new(interface, name);
    }
    let standard = STANDARD.iter().find(|(_, names)| names.contains(&text));
    OperationRef::new(standard.map_or("", |(interface, _)| *interface), text)
}

/// The operation that runs a command which the user typed.
pub(super) fn command_operation(words: &[String]) -> Arc<Operation> {
    let words = words.iter().map(|word| Value::from(word.as_str()));
    Arc::new(Operation {
        reference: OperationRef::new("", "run"),
        implementation: Some(Implementation {
            kind: ImplementationKind::Configurator("Shell".into()),
            class: None,
            primary: None,
            dependencies: Vec::new(),
            operation_host: None,
            environment: Map::new(),
            timeout: None,
            pre_conditions: None,
            span: Span::NONE,
        }),
        inputs: Map::from_iter([("command".into(), Value::list(words))]),
        input_defs: IndexMap::new(),
        input_spans: IndexMap::new(),
        outputs: Map::new(),
        output_defs: IndexMap::new(),
        entry_state: None,
        invoke: None,
        metadata: Map::new(),
        description: None,
        span: Span::NONE,
        base_dir: Arc::new(PathBuf::new()),
    })
}

/// An operation that something implements. One that invokes another has the other's
/// implementation, and its own inputs over the other's.
pub(super) fn find(operations: &Operations, interface: &str, name: &str) -> Option<Arc<Operation>> {
    let operation = operations.get(interface, name)?;
    let Some(invoked) = &operation.invoke else {
        return operation.is_implemented().then(|| Arc::clone(operation));
    };
    let (interface, name) = invoked.rsplit_once('.').unwrap_or(("Standard", invoked));
    let other = operations.get(interface, name)?;
    let mut merged = Operation::clone(other);
    merged.reference = operation.reference.clone();
    for (name, value) in &operation.inputs {
        merged.inputs.insert(Arc::clone(name), value.clone());
    }
    Some(Arc::new(merged))
}

/// The node state that an operation says it enters.
pub(super) fn entry_state(operation: &Operation) -> Option<NodeState> {
    operation.entry_state.as_deref().and_then(NodeState::parse)
}
