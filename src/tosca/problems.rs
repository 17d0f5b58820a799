//! The problems found while reading a service template.
//!
//! All readers of this module share one [`Problems`] and report to it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::diagnostic::{Check, Diagnostic, Diagnostics, Span};
use crate::text::did_you_mean;
use crate::value::FoldSet;
use crate::yaml::{KeyTable, Mapping, OtherKeys};

/// Keys without effect: the table, the key, and advice.
const UNUSED_KEYS: &[(&str, &str, &str)] = &[
    ("service_template", "input_values", INPUT_VALUES),
    ("service_template", "inputs_values", INPUT_VALUES),
    (
        "operation",
        "exit_state",
        "the interface of the operation decides the state; a step `set_state` of a workflow sets another one",
    ),
    ("node_type", "instance_keys", INSTANCE_KEYS),
    ("node_template", "instance_keys", INSTANCE_KEYS),
    ("node_template", "occurrences", COPIES),
    ("node_template", "count", COPIES),
    ("property", "external-schema", EXTERNAL_SCHEMA),
    ("property", "external_schema", EXTERNAL_SCHEMA),
    ("policy", "reservation", "remove it"),
];

const INPUT_VALUES: &str = "set values under `spec.inputs` of the ensemble";
const INSTANCE_KEYS: &str = "an instance is found by its name";
const COPIES: &str =
    "a template makes one instance; add a template for each further one, with `copy`";
const EXTERNAL_SCHEMA: &str = "use the constraint `schema` with a JSON schema";

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
    pub(super) fn error(&self, check: Check, message: impl ToString, span: Span) {
        self.report(Diagnostic::error(message).check(check).label(span, ""));
    }

    /// Adds a warning at a location.
    pub(super) fn warning(&self, check: Check, message: impl ToString, span: Span) {
        self.report(Diagnostic::warning(message).check(check).label(span, ""));
    }

    /// Reports each key that the table does not list: as a warning if the table is open, else as an error.
    ///
    /// `subject` names the entity in the message.
    ///
    /// Keys of TOSCA that this program reads and does not follow are warnings.
    pub(super) fn report_unknown_keys(&self, table: &KeyTable, subject: &str, mapping: &Mapping) {
        for (_, key, help) in UNUSED_KEYS.iter().filter(|(of, ..)| *of == table.name) {
            if let Some(entry) = mapping.entry(key) {
                let message = format!("`{key}` of {subject} has no effect");
                let warning = Diagnostic::warning(message)
                    .check(Check::UnusedKey)
                    .label(entry.key_span, "ignored");
                self.report(warning.help(*help));
            }
        }
        self.check_description(table, subject, mapping);
        for (key, entry) in mapping {
            if table.has_key(key) {
                continue;
            }
            let message = format!("{subject} has no key `{key}`");
            let diagnostic = match table.rest {
                OtherKeys::Open => Diagnostic::warning(message),
                OtherKeys::Refused | OtherKeys::Each(_) => Diagnostic::error(message),
            }
            .check(Check::UnknownKey)
            .label(entry.key_span, "");
            self.report(diagnostic.help_if(did_you_mean(key, table.names())));
        }
    }

    /// Reports a `description` that is a map or a list. Nothing depends on the text, so the rest is read.
    fn check_description(&self, table: &KeyTable, subject: &str, mapping: &Mapping) {
        let node = mapping
            .get("description")
            .filter(|_| table.has_key("description"));
        if let Some(node) = node.filter(|it| it.as_map().is_some() || it.as_seq().is_some()) {
            let subject = format_args!("`description` of {subject}");
            self.report(node.type_mismatch(subject, "a string").contained());
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
