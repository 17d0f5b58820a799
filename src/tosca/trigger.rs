//! Triggers of policies (TOSCA 1.3, 3.6.16): what is to happen when something happens.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::value::{Map, Value};

use super::workflow::WorkflowActivity;

/// A trigger of a policy.
#[derive(Debug, Clone)]
pub struct Trigger {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// The name of the event that sets it off.
    pub event: Option<Arc<str>>,
    /// When it is on: `start_time` and `end_time`, raw.
    pub schedule: Map,
    /// The node whose events count: a node template or a node type.
    pub node: Option<Arc<str>>,
    /// The requirement or the capability of that node.
    pub facet: Option<Facet>,
    /// What must hold, raw: the clauses of `constraint`, or of a plain list.
    pub condition: Vec<Value>,
    /// How long it must hold, raw: a `scalar-unit.time`.
    pub period: Option<Value>,
    /// How often it must hold.
    pub evaluations: Option<u64>,
    /// How evaluations join into one: `average`, ….
    pub method: Option<Arc<str>>,
    /// What is done.
    pub action: Vec<WorkflowActivity>,
    /// Everything that it says, raw.
    pub raw: Map,
    /// Where it is declared.
    pub span: Span,
}

/// A side of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Facet {
    /// One of its requirements.
    Requirement(Arc<str>),
    /// One of its capabilities.
    Capability(Arc<str>),
}
