//! Checks the effects that the project asks for and the user has not permitted.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::check::{Check, DoctorReport};
use super::subject::{LoadedEnsemble, Subject, quoted};
use crate::diagnostic::Span;
use crate::project::LocatedEnsemble;

/// Calls of lookups that need a permission, in templates.
static GUARDED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?:lookup|query|q)\(\s*['"](?:ansible\.builtin\.)?(pipe|lines|url|password)['"]"#)
        .ok()
});

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let Ok(found) = &subject.found else {
        return;
    };
    let located = &found.located;
    let is_trusted = located.trust.covers(located.folder());
    let before = report.checks.len();
    if let Some(loaded) = subject.ensemble() {
        for (name, span) in guarded_effects(loaded) {
            if located.trust.permits(&name) {
                continue;
            }
            let message =
                format!("the lookup `{name}` is refused, because the project is not trusted");
            let mut check = Check::error("trust", "trust", message)
                .help(format!("`--allow {name}` permits it for one command"))
                .fix(trust_command(located));
            check.place = loaded.session.sources.position(span);
            report.push(check);
        }
    }
    if report.checks.len() == before {
        let message = if is_trusted {
            "you trust the project"
        } else {
            "the project is not trusted, and no lookup in it needs trust"
        };
        let loaded = subject.ensemble().is_some();
        if is_trusted || loaded {
            report.push(Check::ok("trust", "trust", message));
        }
    }
}

/// Returns the command that trusts the project of an ensemble.
pub(super) fn trust_command(located: &LocatedEnsemble) -> String {
    let folder = located.root().unwrap_or_else(|| located.folder());
    format!("unfurl trust {}", quoted(folder))
}

/// Returns the names of the effects that files of the project use, with a place of each.
fn guarded_effects(loaded: &LoadedEnsemble) -> BTreeMap<String, Span> {
    let mut found = BTreeMap::new();
    let Some(guarded) = GUARDED.as_ref() else {
        return found;
    };
    for (id, source) in loaded.session.sources.iter() {
        for capture in guarded.captures_iter(&source.text) {
            let (Some(all), Some(name)) = (capture.get(0), capture.get(1)) else {
                continue;
            };
            let at = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
            let span = Span::new(id, at(all.start()), at(all.end()));
            found.entry(name.as_str().to_owned()).or_insert(span);
        }
    }
    found
}
