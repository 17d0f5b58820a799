//! Interfaces while types and templates are being merged into them.
//!
//! An [`InterfaceDrafts`] holds the merged but unresolved YAML. `interface_merge.rs` fills the drafts and
//! turns them into [`super::operation::Operations`].

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::{OperationName, TypeName};
use crate::value::{Fold, Map, Value};
use crate::yaml::{MapEntry, Node};

use super::definition::Defs;

/// The inputs whose values other programs read as YAML 1.1.
const YAML_1_1_INPUTS: [&str; 2] = ["playbook", "inventory"];

/// Returns the value of an input.
pub(super) fn input_value(name: &str, entry: &MapEntry) -> Value {
    if YAML_1_1_INPUTS.contains(&name) {
        entry.value.to_value_with_texts()
    } else {
        entry.value.to_value()
    }
}

/// The merged definitions of each interface. The entry `defaults` holds the settings of all interfaces.
#[derive(Debug, Clone, Default)]
pub(super) struct InterfaceDrafts(pub(super) IndexMap<Arc<str>, Arc<InterfaceDraft>, Fold>);

/// The merged definitions of one interface.
#[derive(Debug, Clone)]
pub(super) struct InterfaceDraft {
    pub(super) type_name: Option<TypeName>,
    pub(super) shared: Arc<OperationParts>,
    pub(super) operations: IndexMap<OperationName, Arc<OperationDraft>, Fold>,
    pub(super) requirements: Vec<TypeName>,
    pub(super) span: Span,
}

/// The parts that an interface can define for all of its operations.
#[derive(Debug, Clone, Default)]
pub(super) struct OperationParts {
    pub(super) inputs: Map,
    pub(super) input_spans: IndexMap<Arc<str>, Span>,
    pub(super) input_defs: Defs,
    pub(super) outputs: Map,
    pub(super) output_defs: Defs,
    pub(super) implementation: Option<ScopedNode>,
}

/// A YAML node, with the namespace to look up its names in.
#[derive(Debug, Clone)]
pub(super) struct ScopedNode {
    pub(super) node: Node,
    pub(super) namespace: u32,
}

/// The merged definitions of one operation.
#[derive(Debug, Clone)]
pub(super) struct OperationDraft {
    pub(super) own: OperationParts,
    /// Whether the most derived definition requests the shared implementation of the interface.
    pub(super) uses_shared: bool,
    pub(super) removed: bool,
    pub(super) invoke: Option<Arc<str>>,
    pub(super) entry_state: Option<Arc<str>>,
    pub(super) metadata: Map,
    pub(super) description: Option<Arc<str>>,
    /// The map of the operation if it has `timeout`, `operation_host` or `environment` beside the
    /// implementation.
    pub(super) extras: Option<Node>,
    pub(super) span: Span,
    pub(super) namespace: u32,
}

impl OperationDraft {
    /// Creates a draft without any definitions.
    pub(super) fn new(span: Span, namespace: u32) -> Self {
        Self {
            own: OperationParts::default(),
            uses_shared: false,
            removed: false,
            invoke: None,
            entry_state: None,
            metadata: Map::default(),
            description: None,
            extras: None,
            span,
            namespace,
        }
    }
}
