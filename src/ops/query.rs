//! Evaluates the expression that the user requested with a job (`--query`).

use super::failure::{Failure, FailureKind};
use crate::diagnostic::{Diagnostic, Sources, Span};
use crate::expr;
use crate::job::{self, Engine, JobQueries, Report};
use crate::topology::{QuerySubject, SubjectError, Topology};
use crate::value::Value;

/// Names at the start of an expression that are not those of instances.
const OTHER_NAMES: [&str; 3] = ["root", "inputs", "outputs"];

/// The request to evaluate an expression in a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryRequest {
    pub expression: String,
    /// The depth of the trace: 0 for none, 1 for the attributes named in the expression, more for the
    /// attributes from which those are computed.
    pub depth: u8,
}

/// The result of a requested expression.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryResult {
    pub expression: String,
    /// The value; null if there is no result.
    pub value: Value,
    /// The attributes read, with secrets redacted.
    pub trace: Vec<(String, Value)>,
    /// A warning about the name at the start of an expression without a result.
    pub warning: Option<Diagnostic>,
}

impl QueryRequest {
    /// Evaluates the expression in a planned job.
    pub(super) fn answer(
        &self,
        engine: &Engine,
        sources: &Sources,
    ) -> Result<QueryResult, Failure> {
        let answer = engine.query(&self.expression, self.depth);
        self.answer_of(answer, &engine.topology, sources)
    }

    /// Evaluates the expression in a job that has ended.
    pub(super) fn answer_after(
        &self,
        questions: &JobQueries,
        report: &Report,
        sources: &Sources,
    ) -> Result<QueryResult, Failure> {
        let answer = questions.query(report, &self.expression, self.depth);
        self.answer_of(answer, &report.topology, sources)
    }

    pub(super) fn answer_of(
        &self,
        answer: Result<(Value, Vec<(String, Value)>), expr::Error>,
        topology: &Topology,
        sources: &Sources,
    ) -> Result<QueryResult, Failure> {
        let (value, trace) = answer.map_err(|error| {
            let no_span = |_: &str| Span::NONE;
            let problem = job::explain_error(topology, error.to_string(), &error, &no_span);
            Failure::with_sources(FailureKind::Refused, problem, sources.clone())
        })?;
        Ok(QueryResult {
            expression: self.expression.clone(),
            warning: unknown_name(&self.expression, &value, topology),
            value,
            trace,
        })
    }
}

/// Returns a warning if an expression such as `::web::url` has no result because nothing has its first name.
fn unknown_name(expression: &str, value: &Value, topology: &Topology) -> Option<Diagnostic> {
    let is_empty = value.is_null() || value.as_list().is_some_and(Vec::is_empty);
    let name = first_name(expression).filter(|_| is_empty)?;
    if OTHER_NAMES.contains(&name) {
        return None;
    }
    match QuerySubject::find(topology, name) {
        Err(error @ SubjectError::NotFound { .. }) => {
            let message = format!("the query has no result: {error}");
            Some(Diagnostic::warning(message).help(error.hint()))
        }
        Ok(_) | Err(SubjectError::Ambiguous { .. }) => None,
    }
}

/// Returns the name of an instance at the start of an absolute expression.
fn first_name(expression: &str) -> Option<&str> {
    let rest = expression.trim().strip_prefix("::")?;
    let end = rest.find(|c: char| matches!(c, '[' | '?') || c.is_whitespace());
    let rest = &rest[..end.unwrap_or(rest.len())];
    let name = rest.split("::").next().unwrap_or(rest);
    let is_name = !name.is_empty() && !name.starts_with(['.', '*', '$', ':']);
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_expression_begins_with_the_name_of_an_instance() {
        for (expression, name) in [
            ("::web::url", Some("web")),
            ("::web", Some("web")),
            (" ::web[.type=a]::url", Some("web")),
            ("::web?", Some("web")),
            ("::outer:::inner::a", Some("outer")),
            ("::*::url", None),
            ("::.instances", None),
            ("::[.type=a]", None),
            ("::$name::a", None),
            ("web::url", None),
            ("::", None),
            ("", None),
        ] {
            assert_eq!(first_name(expression), name, "{expression}");
        }
    }
}
