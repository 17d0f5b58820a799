//! An expression that the user asks for with a job.

use super::failure::{Failure, FailureKind};
use crate::diagnostic::{Sources, Span};
use crate::expr;
use crate::job::{self, Engine, JobQueries, Report};
use crate::topology::Topology;
use crate::value::Value;

/// An expression that is evaluated in a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryRequest {
    /// The expression.
    pub expression: String,
    /// How much of what it reads is traced: nothing if 0, the attributes that it names if 1, those
    /// that they are computed from as well if more.
    pub depth: u8,
}

/// What an expression gave.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryResult {
    /// The expression.
    pub expression: String,
    /// Its value; null where it gave nothing.
    pub value: Value,
    /// The attributes that it read, secrets redacted.
    pub trace: Vec<(String, Value)>,
}

impl QueryRequest {
    /// Evaluates the expression in a job that was planned.
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

    fn answer_of(
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
