//! Triggers of policies (TOSCA 1.3, 3.6.16): the actions to run when an event occurs.
//!
//! `trigger_reader.rs` reads them. This file holds data only.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::value::{Map, Value};

use super::workflow::WorkflowActivity;

/// A trigger of a policy: event, condition and actions.
#[derive(Debug, Clone)]
pub struct Trigger {
    pub name: Arc<str>,
    pub description: Option<Arc<str>>,
    /// The name of the event that activates the trigger.
    pub event: Option<Arc<str>>,
    /// The period in which the trigger is active: `start_time` and `end_time`, unevaluated.
    pub schedule: Map,
    /// The node template or node type whose events count.
    pub node: Option<Arc<str>>,
    /// The requirement or capability of the node that the event is about.
    pub facet: Option<Facet>,
    /// The unevaluated clauses that must hold: those under `constraint`, or a plain list.
    pub condition: Vec<Value>,
    /// The duration for which the condition must hold: an unevaluated `scalar-unit.time`.
    pub period: Option<Value>,
    /// The number of times that the condition must hold.
    pub evaluations: Option<u64>,
    /// The method to aggregate the evaluations, such as `average`.
    pub method: Option<Arc<str>>,
    pub action: Vec<WorkflowActivity>,
    /// The complete definition as written, without evaluation of expressions.
    pub raw: Map,
    pub span: Span,
}

/// A requirement or a capability of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Facet {
    Requirement(Arc<str>),
    Capability(Arc<str>),
}
