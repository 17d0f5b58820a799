//! Imperative workflows that a topology declares: steps with activities and successors.
//!
//! `workflow_reader.rs` reads them. This file holds data only.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::OperationRef;
use crate::value::{Map, Value};

use super::definition::ParameterDef;

/// An imperative workflow of a topology.
#[derive(Debug, Clone)]
pub struct Workflow {
    pub name: Arc<str>,
    pub description: Option<Arc<str>>,
    pub inputs: IndexMap<Arc<str>, Arc<ParameterDef>>,
    /// The conditions that must hold before the workflow starts.
    pub preconditions: Vec<Precondition>,
    /// The steps by name, in the order of the text.
    pub steps: IndexMap<Arc<str>, WorkflowStep>,
    pub metadata: Map,
    pub span: Span,
}

/// A condition on a target that must hold before a workflow starts.
#[derive(Debug, Clone)]
pub struct Precondition {
    /// The node template or group to check.
    pub target: Arc<str>,
    pub conditions: Vec<Value>,
    pub span: Span,
}

/// A step of a workflow: a target and its activities.
#[derive(Debug, Clone)]
pub struct WorkflowStep {
    pub name: Arc<str>,
    /// The node template, group or node type that the step acts on.
    pub target: Arc<str>,
    /// The requirement of the target whose relationship the step acts on instead.
    pub target_relationship: Option<Arc<str>>,
    /// The node on which the operations of the step run.
    pub operation_host: Option<Arc<str>>,
    /// Unevaluated conditions on the target. The step is skipped if they do not hold.
    pub filter: Vec<Value>,
    /// The activities to perform, in order.
    pub activities: Vec<WorkflowActivity>,
    /// The steps that follow if this one succeeds.
    pub on_success: Vec<Arc<str>>,
    /// The steps that follow if this one fails.
    pub on_failure: Vec<Arc<str>>,
    /// The location of the name.
    pub span: Span,
    /// The location of the whole step.
    pub value_span: Span,
}

/// An activity of a workflow step.
#[derive(Debug, Clone)]
pub enum WorkflowActivity {
    /// Sets the node state of the target.
    SetState(Arc<str>),
    /// Calls an operation of the target.
    CallOperation {
        operation: OperationRef,
        /// Unevaluated inputs, merged over the operation's own.
        inputs: Map,
    },
    /// Runs a declarative workflow, such as `deploy` or `check`, on the target.
    Delegate {
        /// The name of the declarative workflow.
        workflow: Arc<str>,
        /// The inputs, which may contain unevaluated expressions.
        inputs: Map,
    },
    /// Runs another workflow of the topology.
    Inline {
        /// The name of a workflow of the same topology.
        workflow: Arc<str>,
        /// The inputs, which may contain unevaluated expressions.
        inputs: Map,
    },
}
