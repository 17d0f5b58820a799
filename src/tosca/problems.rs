//! The problems found while reading, each told once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::text::did_you_mean;
use crate::value::FoldSet;
use crate::yaml::{Mapping, Rest, Table};

/// Collects problems. A definition is read again for each type that inherits it; its problems
/// count once.
#[derive(Debug, Default)]
pub(super) struct Problems(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    all: Diagnostics,
    told: FoldSet<(String, Option<Span>)>,
}

impl Problems {
    /// Adds a problem, unless it was told already.
    pub(super) fn report(&self, diagnostic: Diagnostic) {
        let mut found = self.found();
        if found
            .told
            .insert((diagnostic.message.clone(), diagnostic.span()))
        {
            found.all.push(diagnostic);
        }
    }

    /// Adds an error at a place.
    pub(super) fn error(&self, message: impl ToString, span: Span) {
        self.report(Diagnostic::error(message).label(span, ""));
    }

    /// Adds a warning at a place.
    pub(super) fn warning(&self, message: impl ToString, span: Span) {
        self.report(Diagnostic::warning(message).label(span, ""));
    }

    /// Reports each key that a table does not list: an error where the table refuses it. `what`
    /// names the entity.
    pub(super) fn unknown_keys(&self, table: &Table, what: &str, mapping: &Mapping) {
        for (key, entry) in mapping {
            if table.knows(key) {
                continue;
            }
            let message = format!("{what} has no key `{key}`");
            let diagnostic = match table.rest {
                Rest::Open => Diagnostic::warning(message),
                Rest::Refused | Rest::Each(_) => Diagnostic::error(message),
            }
            .label(entry.key_span, "");
            self.report(diagnostic.help_if(did_you_mean(key, table.names())));
        }
    }

    /// Takes what was found since the last time.
    pub(super) fn take(&self) -> Diagnostics {
        std::mem::take(&mut self.found().all)
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
