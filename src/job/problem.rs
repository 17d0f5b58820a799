//! Errors of expressions as people read them: with the places of what was evaluated.

use super::evaluation::Evaluation;
use super::task::Task;
use crate::diagnostic::{Diagnostic, Span};
use crate::expr::{Error, Site};
use crate::topology::{EntityKind, Topology};

/// Says what is wrong, and where: in what was evaluated first of all, and in what asked for it.
/// `input` gives the place of an input of the task.
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
            _ => format!("{name} asks for it"),
        };
        diagnostic = diagnostic.label(span, text);
    }
    diagnostic
}

impl Evaluation<'_> {
    /// The problem that a task cannot be rendered, with the places of what was evaluated, or else
    /// that of its operation.
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
        let implementation = operation.implementation.as_ref();
        let span = implementation.map_or(operation.span, |it| it.span);
        problem.label(span, "in this operation")
    }
}
