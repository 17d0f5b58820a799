//! The result of a run over ensembles.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::row::Outcome;

/// The number of ensembles that the log lists by name. Others are counted.
const MAX_LISTED: usize = 40;

/// The result of the command for one ensemble, or for the hosts of a task or state test.
#[derive(Debug, Clone, PartialEq)]
pub struct EnsembleResult {
    pub name: Arc<str>,
    pub outcome: EnsembleOutcome,
    /// The exit code; None if the command did not end by itself.
    pub exit: Option<i32>,
    /// The reason in one sentence; empty if all is well.
    pub message: Arc<str>,
    /// The JSON document of the command; null if there is none.
    pub document: Json,
}

/// The way in which the command for an ensemble ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnsembleOutcome {
    Ok,
    /// Something drifted from outside, or a state test has changes.
    Drifted,
    /// Nothing drifted, but something could not be determined.
    CannotTell,
    Failed,
    /// Another job holds the ensemble.
    Locked,
    /// The time limit was exceeded.
    TimedOut,
    /// The run was stopped or its time was over before.
    NotRun,
}

impl EnsembleOutcome {
    /// Returns the word for the outcome in logs and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Drifted => "drifted",
            Self::CannotTell => "cannot-tell",
            Self::Failed => "failed",
            Self::Locked => "locked",
            Self::TimedOut => "timed-out",
            Self::NotRun => "not-run",
        }
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    pub schedule: Arc<str>,
    pub due: Timestamp,
    pub started: Timestamp,
    pub ended: Timestamp,
    pub outcome: Outcome,
    /// The result or the reason in one sentence.
    pub reason: Arc<str>,
    pub ensembles: Vec<EnsembleResult>,
}

/// Returns the outcome of a run and the sentence about it. `left_out` counts ensembles that were deployed recently.
pub fn outcome_of(results: &[EnsembleResult], left_out: usize) -> (Outcome, String) {
    use EnsembleOutcome::{CannotTell, Drifted, Failed, Locked, NotRun, Ok, TimedOut};
    let count = |outcome| results.iter().filter(|it| it.outcome == outcome).count();
    let counted = [Ok, Drifted, CannotTell, Failed, Locked, TimedOut, NotRun].map(|outcome| {
        let number = count(outcome);
        (number > 0).then(|| format!("{number} {}", outcome.word()))
    });
    let mut parts: Vec<String> = counted.into_iter().flatten().collect();
    if left_out > 0 {
        parts.push(format!("{left_out} left out: deployed recently"));
    }
    let failed = count(Failed) + count(TimedOut) + count(NotRun);
    let outcome = match results.len() {
        0 => Outcome::Skipped,
        _ if failed > 0 => Outcome::Failed,
        all if count(Locked) == all => Outcome::Skipped,
        _ => Outcome::Done,
    };
    let mut text = parts.join(", ");
    let first = results.iter().find(|it| !it.message.is_empty());
    if let Some(first) = first {
        text = format!("{text} ({}: {})", first.name, first.message);
    }
    (outcome, text)
}

impl RunReport {
    /// Returns the details for the log: one short object per ensemble, the troubled ones first.
    pub fn details(&self) -> Json {
        let (well, troubled): (Vec<_>, Vec<_>) = self
            .ensembles
            .iter()
            .partition(|it| it.outcome == EnsembleOutcome::Ok);
        let listed = troubled.into_iter().chain(well).take(MAX_LISTED);
        let listed: Vec<Json> = listed.map(EnsembleResult::details).collect();
        json!({ "count": self.ensembles.len(), "ensembles": listed })
    }
}

impl EnsembleResult {
    /// Returns the number of findings of each kind, without ignored ones.
    pub fn findings(&self) -> Map<String, Json> {
        let mut counts = Map::new();
        let ensembles = self.document.get("ensembles").and_then(Json::as_array);
        let findings = ensembles
            .into_iter()
            .flatten()
            .filter_map(|ensemble| ensemble.get("findings")?.as_array())
            .flatten();
        for finding in findings {
            let is_ignored = finding.get("ignored_by").is_some_and(|by| !by.is_null());
            if let (false, Some(kind)) = (is_ignored, finding.get("kind").and_then(Json::as_str)) {
                let count = counts.get(kind).and_then(Json::as_u64).unwrap_or_default();
                counts.insert(kind.to_owned(), (count + 1).into());
            }
        }
        counts
    }

    fn details(&self) -> Json {
        json!({
            "name": &*self.name,
            "outcome": self.outcome.word(),
            "exit": self.exit,
            "findings": self.findings(),
            "message": &*self.message,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(outcome: EnsembleOutcome, message: &str) -> EnsembleResult {
        EnsembleResult {
            name: "web".into(),
            outcome,
            exit: Some(0),
            message: message.into(),
            document: Json::Null,
        }
    }

    #[test]
    fn the_outcome_of_a_run_is_that_of_its_ensembles() {
        use EnsembleOutcome::{Drifted, Failed, Locked, Ok};
        let of = |outcomes: &[EnsembleOutcome], left_out| {
            let results: Vec<_> = outcomes.iter().map(|it| result(*it, "")).collect();
            outcome_of(&results, left_out)
        };
        assert_eq!(
            of(&[Ok, Drifted, Ok], 0),
            (Outcome::Done, "2 ok, 1 drifted".into())
        );
        assert_eq!(of(&[Ok, Failed], 2).0, Outcome::Failed);
        assert_eq!(of(&[Locked], 0), (Outcome::Skipped, "1 locked".into()));
        assert_eq!(
            of(&[], 3),
            (Outcome::Skipped, "3 left out: deployed recently".into())
        );
        let (_, text) = outcome_of(&[result(Failed, "no such task")], 0);
        assert_eq!(text, "1 failed (web: no such task)");
    }

    #[test]
    fn findings_are_counted_by_kind() {
        let mut result = result(EnsembleOutcome::Drifted, "");
        result.document = json!({"ensembles": [{"findings": [
            {"kind": "outside"}, {"kind": "outside", "ignored_by": null}, {"kind": "pending", "ignored_by": "rule"}
        ]}]});
        assert_eq!(Json::Object(result.findings()), json!({"outside": 2}));
    }
}
