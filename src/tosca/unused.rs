//! The types that no template uses: what is wrong with an imported one does no harm.

use crate::diagnostic::{Diagnostic, Diagnostics, Severity, SourceId, Span};

use super::types::{BUILT_IN, Types};

/// Where the types stand that nothing has asked for, sorted.
#[derive(Debug)]
pub(super) struct Unused(Vec<Span>);

impl Types {
    /// The types that nothing has asked for so far.
    pub(super) fn unused(&self) -> Unused {
        let own = self.decls.iter().filter(|decl| {
            decl.namespace != BUILT_IN && decl.resolved.get().is_none() && decl.span.is_some()
        });
        let spans = own.map(|decl| {
            let body = decl.node().span();
            Span {
                end: body.end.max(decl.span.end),
                ..decl.span
            }
        });
        let mut spans: Vec<Span> = spans.collect();
        spans.sort_by_key(|span| (span.source, span.start));
        Unused(spans)
    }
}

impl Unused {
    /// Makes warnings of errors that are about unused types of other files than `own`.
    pub(super) fn ease(&self, problems: Diagnostics, own: SourceId) -> Diagnostics {
        let problems = problems.into_iter();
        problems.map(|problem| self.eased(problem, own)).collect()
    }

    fn eased(&self, mut problem: Diagnostic, own: SourceId) -> Diagnostic {
        let place = problem.span().filter(|span| span.source != own);
        if place.is_some_and(|span| self.holds(span)) && problem.severity == Severity::Error {
            problem.severity = Severity::Warning;
        }
        problem
    }

    fn holds(&self, place: Span) -> bool {
        let key = (place.source, place.start);
        let next = self
            .0
            .partition_point(|span| (span.source, span.start) <= key);
        let before = next.checked_sub(1).and_then(|index| self.0.get(index));
        before.is_some_and(|span| span.source == place.source && place.start < span.end)
    }
}
