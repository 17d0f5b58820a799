//! Implements `unfurl status`: shows the recorded instances.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::drift::RecordedDrift;
use super::failure::{Failure, FailureKind};
use super::outputs::reveal_outputs;
use super::query::{QueryRequest, QueryResult};
use crate::diagnostic::Sources;
use crate::ensemble::{RecordedFailure, last_failures};
use crate::expr::{Evaluator, Memo};
use crate::job;
use crate::name::Status;
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

/// The recorded instances with what the user asked for.
#[derive(Debug)]
pub struct RecordedStatus {
    pub topology: Arc<Topology>,
    pub answer: StatusAnswer,
    /// The last failures of instances that are not ok, by their unique keys. Empty with another answer.
    pub failures: HashMap<String, RecordedFailure>,
    /// The drift that the last looks found. Empty with another answer.
    pub drift: RecordedDrift,
    /// The texts of the model.
    pub sources: Sources,
}

/// Returns the last failures of the instances that are not ok, by their unique keys.
pub(super) fn failures_of(
    topology: &Topology,
    manifest: &Path,
    folder: &Path,
) -> HashMap<String, RecordedFailure> {
    let nodes = topology.nodes().into_iter();
    let troubled = nodes.filter(|handle| {
        let local = topology.entity(*handle).local;
        local.is_some_and(|local| !matches!(local, Status::Ok | Status::Absent))
    });
    let keys = troubled.map(|handle| topology.unique_key(handle)).collect();
    last_failures(manifest, folder, keys)
}

/// Loads an ensemble; returns its topology, and the result of an expression or the outputs to reveal if they are
/// given.
pub fn status(
    options: &SessionOptions,
    query: Option<&QueryRequest>,
    reveal: &[String],
) -> Result<RecordedStatus, Failure> {
    // The record can be shown although a value that was given with a job is missing now.
    let options = &SessionOptions {
        incomplete: true,
        ..options.clone()
    };
    let found = session::find(options)?;
    let mut session = session::load(found, options)
        .map_err(|failure| failure.map_kind(|_| FailureKind::Refused))?;
    let topology = Arc::new(session.topology()?);
    let folder = session.manifest.base_dir();
    let manifest = session.manifest.path();
    let status = |topology, answer| RecordedStatus {
        topology,
        answer,
        failures: HashMap::new(),
        drift: RecordedDrift::default(),
        sources: session.sources.clone(),
    };
    if query.is_none() && reveal.is_empty() {
        let failures = failures_of(&topology, manifest, folder);
        return Ok(RecordedStatus {
            failures,
            drift: RecordedDrift::of(&session),
            ..status(topology, StatusAnswer::None)
        });
    }
    let planned = session.manifest.base_dir().join("planned");
    let system_context = Arc::new(session.system_context(planned));
    let scope: Arc<dyn crate::expr::Scope> = Arc::clone(&topology) as _;
    let evaluator = Evaluator::new(scope, system_context, Arc::new(Memo::default()));
    let Some(query) = query else {
        let outputs = reveal_outputs(reveal, &evaluator, &topology)?;
        drop(evaluator);
        return Ok(status(topology, StatusAnswer::Outputs(outputs)));
    };
    let answer = job::traced_query(&evaluator, &topology, &query.expression, query.depth);
    drop(evaluator);
    let answer = query.answer_of(answer, &topology, &session.sources)?;
    Ok(status(topology, StatusAnswer::Query(answer)))
}
