//! Diagnostics for expression errors, with the source positions of the evaluated values.

use super::evaluation::Evaluation;
use super::task::Task;
use crate::diagnostic::{Diagnostic, Span};
use crate::expr::{Error, Site};
use crate::topology::{EntityKind, Topology};

/// Creates a diagnostic for an error.
///
/// It labels the position where the error occurred first, followed by the values that depend on it.
/// `input` returns the position of a task input.
pub fn explain_error(
    topology: &Topology,
    message: String,
    error: &Error,
    input: &dyn Fn(&str) -> Span,
) -> Diagnostic {
    let mut diagnostic = error.explain(Diagnostic::error(message));
    for (level, site) in error.trail().iter().enumerate() {
        let (span, name) = match site {
            Site::Attribute(of, name) => {
                let entity = topology.entity(*of);
                let requester = match entity.kind {
                    EntityKind::Inputs => format!("the input `{name}`"),
                    EntityKind::Outputs => format!("the output `{name}`"),
                    _ => format!("`{name}` of `{}`", entity.key),
                };
                (topology.span_of(*of, name), requester)
            }
            Site::Input(name) => (input(name), format!("the input `{name}` of the task")),
        };
        if diagnostic.labels.iter().any(|label| label.span == span) {
            continue;
        }
        let text = match level {
            0 => "evaluated here".to_owned(),
            _ => format!("needed by {name}"),
        };
        diagnostic = diagnostic.label(span, text);
    }
    diagnostic
}

impl Evaluation<'_> {
    /// Returns the diagnostic for a task that cannot be rendered. If no value's position is known, the
    /// label is at the operation.
    pub(super) fn render_problem(&self, task: &Task, error: &Error) -> Diagnostic {
        let operation = &task.spec.operation;
        let input = |name: &str| {
            let known = operation.input_spans.get(name);
            known.copied().unwrap_or(Span::NONE)
        };
        let message = format!("{}: {error}", self.label(task));
        let problem = explain_error(self.topology, message, error, &input);
        if !problem.labels.is_empty() {
            return problem;
        }
        problem.label(operation.place(), "in this operation")
    }
}
