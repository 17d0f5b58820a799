//! The problems found while reading a service template.
//!
//! All readers of this module share one [`Problems`] and report to it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::text::did_you_mean;
use crate::value::FoldSet;
use crate::yaml::{KeyTable, Mapping, OtherKeys};

/// Collects problems without duplicates.
///
/// A definition is read again for each type that inherits it. Its problems are reported once.
#[derive(Debug, Default)]
pub(super) struct Problems(Mutex<ProblemLog>);

#[derive(Debug, Default)]
struct ProblemLog {
    all: Diagnostics,
    reported: FoldSet<(String, Option<Span>)>,
}

impl Problems {
    /// Adds a problem, unless it was already reported.
    pub(super) fn report(&self, diagnostic: Diagnostic) {
        let mut found = self.log();
        if found
            .reported
            .insert((diagnostic.message.clone(), diagnostic.span()))
        {
            found.all.push(diagnostic);
        }
    }

    /// Adds an error at a location.
    pub(super) fn error(&self, message: impl ToString, span: Span) {
        self.report(Diagnostic::error(message).label(span, ""));
    }

    /// Adds a warning at a location.
    pub(super) fn warning(&self, message: impl ToString, span: Span) {
        self.report(Diagnostic::warning(message).label(span, ""));
    }

    /// Reports each key that the table does not list: as a warning if the table is open, else as an error.
    ///
    /// `subject` names the entity in the message.
    pub(super) fn report_unknown_keys(&self, table: &KeyTable, subject: &str, mapping: &Mapping) {
        for (key, entry) in mapping {
            if table.has_key(key) {
                continue;
            }
            let message = format!("{subject} has no key `{key}`");
            let diagnostic = match table.rest {
                OtherKeys::Open => Diagnostic::warning(message),
                OtherKeys::Refused | OtherKeys::Each(_) => Diagnostic::error(message),
            }
            .label(entry.key_span, "");
            self.report(diagnostic.help_if(did_you_mean(key, table.names())));
        }
    }

    /// Removes and returns the problems found since the last call.
    pub(super) fn take(&self) -> Diagnostics {
        std::mem::take(&mut self.log().all)
    }

    fn log(&self) -> MutexGuard<'_, ProblemLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
