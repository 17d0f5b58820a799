//! Templates of orphans: node templates that were removed from the model and are put back temporarily, with
//! the reasons why some cannot be.

use std::collections::{BTreeMap, HashMap};

use crate::diagnostic::{Diagnostic, Diagnostics, Severity, Span};
use crate::name::TemplateName;
use crate::yaml::{MapEntry, Mapping};

/// The saved node templates of orphans, by name.
pub(super) type TemplateEntries = BTreeMap<TemplateName, MapEntry>;

/// The reasons why templates are not available, by name.
pub(super) type OrphanReasons = HashMap<TemplateName, String>;

/// The templates to put back into the model, as far as they are valid in it.
#[derive(Debug, Default)]
pub(super) struct OrphanTemplates {
    templates: TemplateEntries,
    reasons: OrphanReasons,
}

impl OrphanTemplates {
    /// Creates the set from available templates and the reasons for unavailable ones.
    pub(super) fn new(templates: TemplateEntries, reasons: OrphanReasons) -> Self {
        Self { templates, reasons }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Returns the reasons why templates are not put back.
    pub(super) fn reasons(&self) -> &OrphanReasons {
        &self.reasons
    }

    /// Returns the templates in the form that the service reader accepts.
    pub(super) fn mapping(&self) -> Mapping {
        let entries = self.templates.iter();
        entries
            .map(|(name, entry)| (name.shared(), entry.clone()))
            .collect()
    }

    /// Drops the templates to which errors of the model point; drops all if no error points to a template.
    pub(super) fn discard_misfits(&mut self, problems: &Diagnostics) {
        if self.discard_bad(problems) {
            return;
        }
        let message = errors(problems)
            .next()
            .map_or("", |problem| &problem.message);
        for name in std::mem::take(&mut self.templates).into_keys() {
            let reason = misfit_reason(&name, message);
            self.reasons.insert(name, reason);
        }
    }

    /// Drops the templates to which errors of the model point. Returns whether there are any.
    pub(super) fn discard_bad(&mut self, problems: &Diagnostics) -> bool {
        let mut misfits: BTreeMap<TemplateName, String> = BTreeMap::new();
        for problem in errors(problems) {
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
        let has_any = !misfits.is_empty();
        for (name, reason) in misfits {
            self.templates.remove(&name);
            self.reasons.entry(name).or_insert(reason);
        }
        has_any
    }
}

fn errors(problems: &Diagnostics) -> impl Iterator<Item = &Diagnostic> {
    let problems = problems.iter();
    problems.filter(|problem| problem.severity == Severity::Error)
}

fn misfit_reason(name: &TemplateName, message: &str) -> String {
    format!(
        "its saved template `{name}` does not fit into the model: {message}; restore what the \
         template needs"
    )
}

fn contains(entry: &MapEntry, span: Span) -> bool {
    let own = entry.value.span();
    let start = entry.key_span.start.min(own.start);
    span.source == own.source && (start..=own.end).contains(&span.start)
}
