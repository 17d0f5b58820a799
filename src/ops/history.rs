//! Implements `unfurl history`: lists the jobs of an ensemble, or the tasks of one job. Takes no lock, writes
//! nothing, and works even if the model is invalid.

use std::collections::HashMap;

use super::failure::{Failure, FailureKind};
use crate::diagnostic::{Sources, Span};
use crate::ensemble::history::{self, History, Selection};
use crate::session::{self, SessionOptions};
use crate::value::Handle;

/// The positions of operations in the files, as the model is now.
#[derive(Debug, Default)]
pub struct OperationPlaces {
    /// The positions by the key of the instance and the name of the operation.
    spans: HashMap<(String, String), Span>,
    pub sources: Sources,
}

impl OperationPlaces {
    /// Returns the span of an operation. `Span::NONE` if the model has it no longer, or cannot be read.
    pub fn span_of(&self, instance: &str, operation: &str) -> Span {
        let key = (instance.to_owned(), operation.to_owned());
        self.spans.get(&key).copied().unwrap_or(Span::NONE)
    }
}

/// Finds the positions of operations, each named by the key of its instance and its own name. None are found in a
/// model that cannot be read.
pub fn operation_places(
    options: &SessionOptions,
    operations: &[(String, String)],
) -> OperationPlaces {
    find_places(options, operations).unwrap_or_default()
}

fn find_places(
    options: &SessionOptions,
    operations: &[(String, String)],
) -> Result<OperationPlaces, Failure> {
    let options = SessionOptions {
        incomplete: true,
        ..options.clone()
    };
    let found = session::find(&options)?;
    let mut session = session::load(found, &options)?;
    let topology = session.topology()?;
    let nodes = topology.nodes().into_iter();
    let handles: HashMap<String, Handle> = nodes.map(|of| (topology.unique_key(of), of)).collect();
    let spans = operations.iter().filter_map(|(instance, operation)| {
        let span = topology.operation_span(*handles.get(instance)?, operation);
        Some(((instance.clone(), operation.clone()), span))
    });
    Ok(OperationPlaces {
        spans: spans.collect(),
        sources: session.sources,
    })
}

/// Reads the history of the selected ensemble.
pub fn history(options: &SessionOptions, selection: &Selection) -> Result<History, Failure> {
    let located = session::find(options)?.located;
    history::history(&located.manifest, located.folder(), selection).map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, hint)
    })
}
