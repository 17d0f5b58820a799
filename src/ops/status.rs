//! Implements `unfurl status`: shows the recorded instances.

use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use super::outputs::reveal_outputs;
use super::query::{QueryRequest, QueryResult};
use crate::expr::{Evaluator, Memo};
use crate::job;
use crate::session;
use crate::session::SessionOptions;
use crate::topology::Topology;
use crate::value::Map;

/// The answer to what the user asked for besides the recorded instances.
#[derive(Debug)]
pub enum StatusAnswer {
    None,
    /// The result of an expression.
    Query(QueryResult),
    /// The values of outputs, with their secrets.
    Outputs(Map),
}

/// Loads an ensemble; returns its topology, and the result of an expression or the outputs to reveal if they are
/// given.
pub fn status(
    options: &SessionOptions,
    query: Option<&QueryRequest>,
    reveal: &[String],
) -> Result<(Arc<Topology>, StatusAnswer), Failure> {
    // The record can be shown although a value that was given with a job is missing now.
    let options = &SessionOptions {
        incomplete: true,
        ..options.clone()
    };
    let found = session::find(options)?;
    let mut session = session::load(found, options)
        .map_err(|failure| failure.map_kind(|_| FailureKind::Refused))?;
    let topology = Arc::new(session.topology()?);
    if query.is_none() && reveal.is_empty() {
        return Ok((topology, StatusAnswer::None));
    }
    let planned = session.manifest.base_dir().join("planned");
    let system_context = Arc::new(session.system_context(planned));
    let scope: Arc<dyn crate::expr::Scope> = Arc::clone(&topology) as _;
    let evaluator = Evaluator::new(scope, system_context, Arc::new(Memo::default()));
    let Some(query) = query else {
        let outputs = reveal_outputs(reveal, &evaluator, &topology)?;
        drop(evaluator);
        return Ok((topology, StatusAnswer::Outputs(outputs)));
    };
    let answer = job::traced_query(&evaluator, &topology, &query.expression, query.depth);
    drop(evaluator);
    let answer = query.answer_of(answer, &topology, &session.sources)?;
    Ok((topology, StatusAnswer::Query(answer)))
}
