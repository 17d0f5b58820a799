//! Implements `unfurl status`: shows the recorded instances.

use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use crate::diagnostic::Span;
use crate::expr::{Context, Evaluator, Memo};
use crate::job;
use crate::session;
use crate::session::SessionOptions;
use crate::topology::Topology;
use crate::value::Value;

/// Loads an ensemble; returns its topology, and the result of an expression if one is given.
pub fn status(
    options: &SessionOptions,
    query: Option<&str>,
) -> Result<(Arc<Topology>, Option<Value>), Failure> {
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
    let context = Context::new(topology.root());
    let results = evaluator
        .query(&Value::from(query), &context)
        .map_err(|error| {
            let no_span = |_: &str| Span::NONE;
            let problem = job::explain_error(&topology, error.to_string(), &error, &no_span);
            Failure::with_sources(FailureKind::Refused, problem, session.sources.clone())
        })?;
    drop(evaluator);
    let value = match <[Value; 1]>::try_from(results) {
        Ok([one]) => one,
        Err(results) if results.is_empty() => Value::Null,
        Err(results) => Value::from(results),
    };
    Ok((topology, Some(value)))
}
