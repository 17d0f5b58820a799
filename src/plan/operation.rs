//! Finds operations, with what `invoke` makes of them.

use std::sync::Arc;

use crate::name::NodeState;
use crate::tosca::{Operation, Operations};

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
