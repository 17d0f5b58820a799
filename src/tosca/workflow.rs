//! Workflows that a topology spells out.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::OperationRef;
use crate::value::{Map, Value};

use super::definition::ParameterDef;

/// A workflow that a topology spells out.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Its inputs.
    pub inputs: IndexMap<Arc<str>, Arc<ParameterDef>>,
    /// What must hold before it starts.
    pub preconditions: Vec<Precondition>,
    /// Its steps by name, in the order of the text.
    pub steps: IndexMap<Arc<str>, WorkflowStep>,
    /// Its `metadata`.
    pub metadata: Map,
    /// Where it is declared.
    pub span: Span,
}

/// What must hold on a target before a workflow starts.
#[derive(Debug, Clone)]
pub struct Precondition {
    /// The node template or group.
    pub target: Arc<str>,
    /// The conditions, raw.
    pub conditions: Vec<Value>,
    /// Where it stands.
    pub span: Span,
}

/// One step of a workflow.
#[derive(Debug, Clone)]
pub struct WorkflowStep {
    /// Its name.
    pub name: Arc<str>,
    /// A node template, a group or a node type.
    pub target: Arc<str>,
    /// The requirement whose relationship is meant instead of the target itself.
    pub target_relationship: Option<Arc<str>>,
    /// Where its operations run.
    pub operation_host: Option<Arc<str>>,
    /// Conditions on the target, raw.
    pub filter: Vec<Value>,
    /// What it does, in order.
    pub activities: Vec<WorkflowActivity>,
    /// The steps that follow when it succeeds.
    pub on_success: Vec<Arc<str>>,
    /// The steps that follow when it fails.
    pub on_failure: Vec<Arc<str>>,
    /// Where it is declared.
    pub span: Span,
}

/// One activity of a step.
#[derive(Debug, Clone)]
pub enum WorkflowActivity {
    /// Sets the node state.
    SetState(Arc<str>),
    /// Calls an operation.
    CallOperation {
        /// Which one.
        operation: OperationRef,
        /// Inputs over the operation's own, raw.
        inputs: Map,
    },
    /// Runs a declarative workflow, such as `deploy` or `check`, on the target.
    Delegate {
        /// Its name.
        workflow: Arc<str>,
        /// Its inputs, raw.
        inputs: Map,
    },
    /// Runs another workflow of the topology.
    Inline {
        /// Its name.
        workflow: Arc<str>,
        /// Its inputs, raw.
        inputs: Map,
    },
}
