//! The result of a run, as decisions about notices need it. The JSON document of the child process is read leniently:
//! missing fields are empty.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::drift::DriftKind;
use crate::name::EnumWords as _;

/// The result of a run of a schedule.
#[derive(Debug, Clone)]
pub struct NoticedRun {
    pub schedule: Arc<str>,
    /// The due time.
    pub due: Timestamp,
    /// The end of the run.
    pub at: Timestamp,
    pub outcome: RunOutcome,
    /// The answers about ensembles or hosts, for the action `drift`.
    pub ensembles: Vec<EnsembleReport>,
}

/// The outcome of a run. A skipped run has none, because nothing is known from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// The run ended, with or without findings.
    Done,
    /// The run failed, with the reason.
    Failed(Arc<str>),
    /// The run was cut off, with the reason.
    CutOff(Arc<str>),
}

/// The answer about an ensemble.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EnsembleReport {
    /// The name, with the environment if there is one.
    pub name: Arc<str>,
    /// The word and the message of the reason why nothing was looked at.
    pub problem: Option<(Arc<str>, Arc<str>)>,
    pub(super) findings: Vec<ReportedFinding>,
    pub(super) rule_problems: Vec<Arc<str>>,
}

/// A finding of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReportedFinding {
    pub(super) id: Arc<str>,
    pub(super) cause: Arc<str>,
    pub(super) kind: DriftKind,
    pub(super) instance: Option<Arc<str>>,
    pub(super) host: Option<Arc<str>>,
    pub(super) is_ignored: bool,
    pub(super) reason: Option<Arc<str>>,
    /// The finding in a line for people.
    pub(super) line: Arc<str>,
    /// The finding as the answer has it.
    pub(super) document: Json,
}

/// The word of a problem that passes: another job works on the ensemble.
const LOCKED: &str = "locked";

/// The number of characters of a value in a line for people.
const VALUE_CHARS: usize = 80;

impl EnsembleReport {
    /// Reads the answers from the document that `unfurl drift --output json` prints.
    pub fn read(document: &Json) -> Vec<Self> {
        let answers = document.get("ensembles").and_then(Json::as_array);
        answers.into_iter().flatten().map(Self::read_one).collect()
    }

    fn read_one(answer: &Json) -> Self {
        let name = text(answer, "name").unwrap_or_default();
        let name = match text(answer, "environment") {
            Some(environment) => format!("{name} ({environment})").into(),
            None => name,
        };
        let problem = answer.get("problem").filter(|problem| !problem.is_null());
        let problem = problem.map(|problem| {
            let kind = text(problem, "kind").unwrap_or_default();
            (kind, text(problem, "message").unwrap_or_default())
        });
        let list = |key: &str| {
            let items = answer.get(key).and_then(Json::as_array);
            items.into_iter().flatten()
        };
        Self {
            name,
            problem,
            findings: list("findings").filter_map(ReportedFinding::read).collect(),
            rule_problems: list("rule_problems")
                .filter_map(|problem| problem.as_str().map(Arc::from))
                .collect(),
        }
    }

    /// Returns the number of findings that no rule ignores by kind, and of those that a rule ignores.
    pub fn counts(&self) -> (BTreeMap<&'static str, u64>, u64) {
        let words = DriftKind::WORDS.iter().map(|(_, word, _)| (*word, 0));
        let mut counts: BTreeMap<&'static str, u64> = words.collect();
        let mut ignored = 0;
        for finding in &self.findings {
            let count = if finding.is_ignored {
                &mut ignored
            } else {
                counts.entry(finding.kind.as_str()).or_default()
            };
            *count += 1;
        }
        (counts, ignored)
    }

    /// Returns true if the answer says nothing, because a job holds the lock of the ensemble. That passes by itself.
    pub(super) fn is_locked(&self) -> bool {
        self.problem
            .as_ref()
            .is_some_and(|(kind, _)| **kind == *LOCKED)
    }

    /// Returns true if the ensemble was looked at.
    pub(super) fn is_answered(&self) -> bool {
        self.problem.is_none()
    }
}

impl ReportedFinding {
    fn read(document: &Json) -> Option<Self> {
        let id = text(document, "id")?;
        let word = text(document, "kind").unwrap_or_default();
        // A newer program may know more kinds. Nothing can be said about those.
        let kind = DriftKind::parse(&word).unwrap_or(DriftKind::CannotTell);
        Some(Self {
            id,
            cause: text(document, "cause").unwrap_or_default(),
            kind,
            instance: text(document, "instance"),
            host: text(document, "host"),
            is_ignored: text(document, "ignored_by").is_some(),
            reason: text(document, "reason"),
            line: line_of(document, kind).into(),
            document: document.clone(),
        })
    }
}

fn text(document: &Json, key: &str) -> Option<Arc<str>> {
    let text = document.get(key)?.as_str()?;
    (!text.is_empty()).then(|| text.into())
}

/// Returns a finding in a line: `web1 on host1: status: ok → error (outside)`.
fn line_of(document: &Json, kind: DriftKind) -> String {
    let get = |key: &str| text(document, key);
    let mut line = match (get("instance"), get("host")) {
        (Some(instance), Some(host)) => format!("{instance} on {host}"),
        (Some(subject), None) | (None, Some(subject)) => subject.to_string(),
        (None, None) => String::new(),
    };
    if let Some(attribute) = get("attribute") {
        line.push_str(if line.is_empty() { "" } else { ": " });
        line.push_str(&attribute);
    }
    if kind == DriftKind::CannotTell {
        let reason = get("reason").map_or_else(|| "cannot tell".to_owned(), |it| short(&it));
        return format!("{line}: {reason}");
    }
    match (get("from"), get("to")) {
        (None, None) => {}
        (from, to) => {
            let side =
                |side: Option<Arc<str>>| side.map_or_else(|| "–".to_owned(), |it| short(&it));
            line.push_str(&format!(": {} → {}", side(from), side(to)));
        }
    }
    format!("{line} ({})", kind.as_str())
}

/// Returns the first line of a value, cut to [`VALUE_CHARS`].
pub(super) fn short(value: &str) -> String {
    let first = value.lines().next().unwrap_or_default();
    let mut cut: String = first.chars().take(VALUE_CHARS).collect();
    if cut.len() < value.trim_end().len() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_read_from_the_document_of_a_run() {
        let document = json!({"status": "drifted", "ensembles": [{
            "name": "web", "environment": "prod", "problem": null, "rule_problems": ["expired"],
            "findings": [
                {"id": "a1", "kind": "outside", "instance": "web1", "host": null, "attribute": "status",
                 "from": "ok", "to": "error\nmore", "cause": "c1", "ignored_by": null},
                {"id": "a2", "kind": "cannot-tell", "instance": "db", "host": "h1", "attribute": "status",
                 "reason": "the host is away", "cause": "c2", "ignored_by": "until 2026"},
                {"kind": "outside"},
                {"id": "a3", "kind": "of-the-future"},
            ]},
            {"name": "b", "problem": {"kind": "locked", "message": "a job runs"}}, 3]});
        let answers = EnsembleReport::read(&document);
        assert_eq!(answers.len(), 3);
        assert_eq!(&*answers[0].name, "web (prod)");
        assert_eq!(answers[0].rule_problems, ["expired".into()]);
        let lines: Vec<&str> = answers[0].findings.iter().map(|it| &*it.line).collect();
        assert_eq!(
            lines,
            [
                "web1: status: ok → error… (outside)",
                "db on h1: status: the host is away",
                ": cannot tell"
            ]
        );
        assert!(answers[0].findings[1].is_ignored);
        assert!(answers[1].is_locked() && !answers[1].is_answered());
        for document in [json!(null), json!([]), json!({"ensembles": 3}), json!("x")] {
            assert!(EnsembleReport::read(&document).is_empty());
        }
    }
}
