//! Node templates that have left the model, and the reasons for which some of them cannot be brought
//! back.

use std::collections::{BTreeMap, HashMap};

use crate::diagnostic::{Diagnostics, Severity, Span};
use crate::name::TemplateName;
use crate::yaml::{MapEntry, Mapping};

/// Templates as they were kept.
pub(super) type TemplateEntries = BTreeMap<TemplateName, MapEntry>;

/// The reasons for which templates are not there, by name.
pub(super) type OrphanReasons = HashMap<TemplateName, String>;

/// Templates that are brought back as far as they fit into the model.
#[derive(Debug, Default)]
pub(super) struct OrphanTemplates {
    templates: TemplateEntries,
    reasons: OrphanReasons,
}

impl OrphanTemplates {
    /// Templates to bring back, and the reasons for which others are not among them.
    pub(super) fn new(templates: TemplateEntries, reasons: OrphanReasons) -> Self {
        Self { templates, reasons }
    }

    /// Whether no template is brought back.
    pub(super) fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// The reasons for which templates are not brought back.
    pub(super) fn reasons(&self) -> &OrphanReasons {
        &self.reasons
    }

    /// The templates, as the model takes them.
    pub(super) fn mapping(&self) -> Mapping {
        let entries = self.templates.iter();
        entries
            .map(|(name, entry)| (name.shared(), entry.clone()))
            .collect()
    }

    /// Gives up the templates at which the model's problems point; all of them where that is
    /// unclear.
    pub(super) fn discard_misfits(&mut self, problems: &Diagnostics) {
        let errors = || {
            let problems = problems.iter();
            problems.filter(|problem| problem.severity == Severity::Error)
        };
        let mut misfits: BTreeMap<TemplateName, String> = BTreeMap::new();
        for problem in errors() {
            let Some(span) = problem.span() else {
                continue;
            };
            let mut templates = self.templates.iter();
            if let Some((name, _)) = templates.find(|(_, entry)| contains(entry, span)) {
                misfits
                    .entry(name.clone())
                    .or_insert_with(|| misfit_reason(name, &problem.message));
            }
        }
        if misfits.is_empty() {
            let message = errors().next().map_or("", |problem| &problem.message);
            for name in std::mem::take(&mut self.templates).into_keys() {
                let reason = misfit_reason(&name, message);
                self.reasons.insert(name, reason);
            }
        }
        for (name, reason) in misfits {
            self.templates.remove(&name);
            self.reasons.entry(name).or_insert(reason);
        }
    }
}

fn misfit_reason(name: &TemplateName, message: &str) -> String {
    format!(
        "its template `{name}`, as it was kept, does not fit into the model: {message}; put back \
         what it needs"
    )
}

fn contains(entry: &MapEntry, span: Span) -> bool {
    let own = entry.value.span();
    let start = entry.key_span.start.min(own.start);
    span.source == own.source && (start..=own.end).contains(&span.start)
}
