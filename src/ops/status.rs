//! Implements `unfurl status`: shows the recorded instances.

use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use super::query::{QueryRequest, QueryResult};
use crate::expr::{Evaluator, Memo};
use crate::job;
use crate::session;
use crate::session::SessionOptions;
use crate::topology::Topology;

/// Loads an ensemble; returns its topology, and the result of an expression if one is given.
pub fn status(
    options: &SessionOptions,
    query: Option<&QueryRequest>,
) -> Result<(Arc<Topology>, Option<QueryResult>), Failure> {
    // The record can be shown although a value that was given with a job is missing now.
    let options = &SessionOptions {
        incomplete: true,
        ..options.clone()
    };
    let found = session::find(options)?;
    let mut session = session::load(found, options)
        .map_err(|failure| failure.map_kind(|_| FailureKind::Refused))?;
    let topology = Arc::new(session.topology()?);
    let Some(query) = query else {
        return Ok((topology, None));
    };
    let planned = session.manifest.base_dir().join("planned");
    let system_context = Arc::new(session.system_context(planned));
    let scope: Arc<dyn crate::expr::Scope> = Arc::clone(&topology) as _;
    let evaluator = Evaluator::new(scope, system_context, Arc::new(Memo::default()));
    let answer = job::traced_query(&evaluator, &topology, &query.expression, query.depth);
    drop(evaluator);
    let answer = query.answer_of(answer, &topology, &session.sources)?;
    Ok((topology, Some(answer)))
}
