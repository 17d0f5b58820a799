//! Lookup of operations, including `invoke` and replacements under a dry run.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use super::goal::AdHoc;
use crate::diagnostic::Span;
use crate::name::{InstanceName, NodeState, OperationRef};
use crate::tosca::{Implementation, ImplementationKind, Operation, Operations};
use crate::value::{Map, Value};

/// Operations for which the interface may be left out.
const STANDARD_OPERATIONS: [(&str, &[&str]); 3] = [
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

/// Parses the name of an operation, `Interface.name` or `name`. The interface is empty if the name does
/// not imply one.
pub fn parse_operation_name(text: &str) -> OperationRef {
    if let Some((interface, name)) = text.rsplit_once('.') {
        return OperationRef::new(interface, name);
    }
    let standard = STANDARD_OPERATIONS
        .iter()
        .find(|(_, names)| names.contains(&text));
    OperationRef::new(standard.map_or("", |(interface, _)| *interface), text)
}

/// Returns the text for a shell, if a command is one word with several words or with operators in it.
fn shell_text(command: &[String]) -> Option<&str> {
    let is_text = |text: &String| text.contains([' ', '\n', ';', '|', '&', '<', '>', '$', '(']);
    match command {
        [text] if is_text(text) => Some(text),
        _ => None,
    }
}

/// Returns an operation that runs a user's command or module of Ansible, on the machine of an instance or on this
/// machine.
pub(super) fn command_operation(ad_hoc: &AdHoc) -> Arc<Operation> {
    let host = ad_hoc.host.as_ref();
    let shell_text = shell_text(&ad_hoc.command);
    let configurator = match (&ad_hoc.module, host) {
        (Some(_), _) => "Ansible",
        (None, Some(_)) if shell_text.is_some() => "Shell",
        (None, Some(_)) => "Cmd",
        (None, None) => "Shell",
    };
    let inputs = match &ad_hoc.module {
        Some(module) => {
            let arguments = Value::from(ad_hoc.command.join(" "));
            let task = Value::map([(module.as_str(), arguments)]);
            Map::from_iter([("playbook".into(), Value::list([task]))])
        }
        None => {
            let words = ad_hoc.command.iter();
            let words = words.map(|word| Value::from(word.as_str()));
            let command = shell_text.filter(|_| host.is_some());
            let command = command.map_or_else(|| Value::list(words), Value::from);
            Map::from_iter([("command".into(), command)])
        }
    };
    Arc::new(Operation {
        reference: OperationRef::new("", "run"),
        implementation: Some(Implementation {
            kind: ImplementationKind::Configurator(configurator.into()),
            class: None,
            primary: None,
            primary_text: None,
            dependencies: Vec::new(),
            operation_host: host.map(InstanceName::shared),
            environment: Map::new(),
            timeout: None,
            pre_conditions: None,
            span: Span::NONE,
        }),
        inputs,
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
/// The interface whose operations replace others under a dry run.
const MOCK_INTERFACE: &str = "Mock";

/// Finds an implemented operation.
///
/// An operation that invokes another gets the other's implementation, with its own inputs taking
/// precedence. Under a dry run, an operation that names a configurator is replaced by the operation of
/// the same name in the interface `Mock` (rule U-g, dry run). A plain command is not replaced, as in
/// Unfurl (Python).
pub fn find_operation(
    operations: &Operations,
    interface: &str,
    name: &str,
    dry_run: bool,
) -> Option<Arc<Operation>> {
    let found = invoked_operation(operations, interface, name)?;
    let mock = operations.get(MOCK_INTERFACE, found.reference.operation.as_str());
    let mock = mock.filter(|mock| dry_run && mock.is_implemented() && names_configurator(&found));
    Some(mock.map_or_else(
        || Arc::clone(&found),
        |mock| {
            let mut mock = Operation::clone(mock);
            mock.reference = found.reference.clone();
            Arc::new(mock)
        },
    ))
}

fn invoked_operation(
    operations: &Operations,
    interface: &str,
    name: &str,
) -> Option<Arc<Operation>> {
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

fn names_configurator(operation: &Operation) -> bool {
    let kind = operation.implementation.as_ref().map(|it| &it.kind);
    matches!(
        kind,
        Some(ImplementationKind::Configurator(_) | ImplementationKind::Unsupported(_))
    )
}

/// Returns the node state that an operation declares to enter.
pub(super) fn entry_state(operation: &Operation) -> Option<NodeState> {
    operation.entry_state.as_deref().and_then(NodeState::parse)
}
