//! Evaluates the expression that the user requested with a job (`--query`).

use super::failure::{Failure, FailureKind};
use crate::diagnostic::{Sources, Span};
use crate::expr;
use crate::job::{self, Engine, JobQueries, Report};
use crate::topology::Topology;
use crate::value::Value;

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
            value,
            trace,
        })
    }
}
