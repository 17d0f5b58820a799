//! Joins an import that was not fetched with the names that are unknown without it.
//!
//! The types and templates that a service template lacks may be in such an import. Then the import is the
//! error, and not each of the names.

use crate::diagnostic::{Check, Diagnostic, Diagnostics, Severity};

/// The maximum number of unknown names that the message shows.
const MAX_SHOWN: usize = 8;

/// The checks that find names which an import may declare.
const CHECKS: [Check; 3] = [
    Check::UnknownType,
    Check::UnknownTarget,
    Check::UnknownTemplate,
];

/// Joins the imports that were not fetched with the unknown names, if there are both.
pub(super) fn join_with_unknown_names(problems: Diagnostics) -> Diagnostics {
    let is_import = |problem: &Diagnostic| problem.check == Check::ImportNotFetched;
    if !problems.iter().any(is_import) {
        return problems;
    }
    let (unknown, others): (Vec<_>, Vec<_>) = problems
        .into_iter()
        .partition(|problem| CHECKS.contains(&problem.check));
    let mut unknown = Some(unknown).filter(|unknown| !unknown.is_empty());
    others
        .into_iter()
        .map(|problem| match unknown.take_if(|_| is_import(&problem)) {
            Some(unknown) => with_unknown_names(problem, &unknown),
            None if is_import(&problem) && problem.severity < Severity::Error => Diagnostic {
                message: format!("{}, so nothing in it was checked", problem.message),
                ..problem
            },
            None => problem,
        })
        .collect()
}

fn with_unknown_names(mut import: Diagnostic, unknown: &[Diagnostic]) -> Diagnostic {
    let names = match unknown.len() {
        1 => "a name that is unknown".to_owned(),
        count => format!("{count} names that are unknown"),
    };
    import.message = format!("{}, and may declare {names}", import.message);
    let severities = unknown.iter().map(|problem| problem.severity);
    import.severity = severities.fold(import.severity, Ord::max);
    for problem in unknown.iter().take(MAX_SHOWN) {
        let place = problem.span().unwrap_or(crate::diagnostic::Span::NONE);
        import = import.label(place, problem.message.clone());
    }
    import
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Span;

    fn not_fetched() -> Diagnostic {
        Diagnostic::warning("`u` was not fetched").check(Check::ImportNotFetched)
    }

    fn shown(problems: Vec<Diagnostic>) -> String {
        let joined = join_with_unknown_names(problems.into_iter().collect());
        let line =
            |it: &Diagnostic| format!("{:?}: {} ({})", it.severity, it.message, it.labels.len());
        let lines: Vec<_> = joined.iter().map(line).collect();
        lines.join("\n")
    }

    #[test]
    fn an_import_that_nothing_lacks_stays_a_warning() {
        insta::assert_snapshot!(shown(vec![not_fetched(), Diagnostic::error("other")]), @"
        Warning: `u` was not fetched, so nothing in it was checked (0)
        Error: other (0)
        ");
    }

    #[test]
    fn the_first_import_takes_the_unknown_names() {
        let mut sources = crate::diagnostic::Sources::default();
        let source = sources.add("a", "text", None);
        let unknown = |severity| Diagnostic {
            severity,
            ..Diagnostic::error("there is no node type `A`")
                .check(Check::UnknownType)
                .label(Span::new(source, 0, 1), "")
        };
        let unknown = [Severity::Warning, Severity::Error].map(unknown);
        let [first, second] = unknown;
        insta::assert_snapshot!(shown(vec![first.clone(), not_fetched(), second, not_fetched()]), @"
        Error: `u` was not fetched, and may declare 2 names that are unknown (2)
        Warning: `u` was not fetched, so nothing in it was checked (0)
        ");
        insta::assert_snapshot!(shown(vec![first, not_fetched()]), @"Warning: `u` was not fetched, and may declare a name that is unknown (1)");
    }
}
