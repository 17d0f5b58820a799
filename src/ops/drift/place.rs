//! The places of findings in the files of the model.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Sources, Span};
use crate::ops::failure::Failure;
use crate::system::env;

/// The places of spans, as texts with paths relative to the current folder.
pub(super) struct Places<'a> {
    sources: &'a Sources,
    here: Option<PathBuf>,
}

impl<'a> Places<'a> {
    pub(super) fn of(sources: &'a Sources) -> Self {
        Self {
            sources,
            here: env::current_dir().ok(),
        }
    }

    /// Returns the start of a span as `file:line:column`.
    pub(super) fn of_span(&self, span: Span) -> Option<Arc<str>> {
        let mut place = self.sources.position(span)?;
        let here = self.here.as_ref();
        if let Some(below) = here.and_then(|here| place.path.strip_prefix(here).ok()) {
            place.path = below.to_owned();
        }
        Some(place.to_string().into())
    }
}

/// Returns the problems of a failure with their places, one a line.
pub(super) fn describe(failure: &Failure) -> String {
    let places = Places::of(&failure.sources);
    let lines = failure.problems.iter().map(|problem| {
        let place = problem.span().and_then(|span| places.of_span(span));
        match place {
            Some(place) => format!("{place}: {}", problem.message),
            None => problem.message.clone(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
