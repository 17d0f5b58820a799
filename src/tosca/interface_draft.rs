//! Interfaces: what is said about their operations while it is being merged.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::{OperationName, TypeName};
use crate::value::{Fold, Map};
use crate::yaml::Node;

use super::definition::Defs;

/// What is said about each interface so far; `defaults` is one of them.
#[derive(Debug, Clone, Default)]
pub(super) struct InterfaceDrafts(pub(super) IndexMap<Arc<str>, Arc<InterfaceDraft>, Fold>);

/// What is said about one interface so far.
#[derive(Debug, Clone)]
pub(super) struct InterfaceDraft {
    pub(super) type_name: Option<TypeName>,
    pub(super) shared: Arc<OperationParts>,
    pub(super) operations: IndexMap<OperationName, Arc<OperationDraft>, Fold>,
    pub(super) requirements: Vec<TypeName>,
    pub(super) span: Span,
}

/// What operations have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct OperationParts {
    pub(super) inputs: Map,
    pub(super) input_spans: IndexMap<Arc<str>, Span>,
    pub(super) input_defs: Defs,
    pub(super) outputs: Map,
    pub(super) output_defs: Defs,
    pub(super) implementation: Option<ScopedNode>,
}

/// A piece of text with the namespace it stands in.
#[derive(Debug, Clone)]
pub(super) struct ScopedNode {
    pub(super) node: Node,
    pub(super) namespace: u32,
}

/// What is said about one operation so far.
#[derive(Debug, Clone)]
pub(super) struct OperationDraft {
    pub(super) own: OperationParts,
    /// Whether the nearest mention asks for the shared implementation.
    pub(super) uses_shared: bool,
    pub(super) removed: bool,
    pub(super) invoke: Option<Arc<str>>,
    pub(super) entry_state: Option<Arc<str>>,
    pub(super) metadata: Map,
    pub(super) description: Option<Arc<str>>,
    /// `timeout`, `operation_host` and `environment` beside the implementation.
    pub(super) extras: Option<Node>,
    pub(super) span: Span,
    pub(super) namespace: u32,
}

impl OperationDraft {
    /// Nothing said yet.
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
