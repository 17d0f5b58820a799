//! The answers of `unfurl drift` as SARIF 2.1.0, for code hosts and editors.

use serde_json::{Value as Json, json};

use super::phrases::{read_place, sides, split_place, subject};
use crate::diagnostic::SourcePosition;
use crate::drift::{DriftAnswer, DriftKind, Finding};
use crate::name::EnumWords as _;
use crate::ui::sarif::{sarif_location, sarif_log};
use crate::ui::words;

/// The rule of a problem of an ignore rule.
const RULE_PROBLEM: &str = "drift/ignore-rule";
/// The rule of an ensemble that was not looked at.
const NOT_LOOKED_AT: &str = "drift/ensemble";

/// Returns the answers as a SARIF log of one run. The rules are the kinds of drift.
pub fn drift_sarif(answers: &[DriftAnswer]) -> Json {
    let kinds = DriftKind::WORDS.iter();
    let mut rules: Vec<Json> = kinds
        .map(|(kind, _, about)| rule(&rule_of(*kind), about))
        .collect();
    rules.push(rule(
        RULE_PROBLEM,
        "An ignore rule has ended, matches nothing or is wrong",
    ));
    rules.push(rule(NOT_LOOKED_AT, "An ensemble could not be looked at"));
    let results = answers.iter().flat_map(of_answer);
    sarif_log(&rules, &results.collect::<Vec<_>>())
}

fn rule(id: &str, about: &str) -> Json {
    json!({ "id": id, "shortDescription": { "text": about } })
}

fn rule_of(kind: DriftKind) -> String {
    format!("drift/{}", kind.as_str())
}

fn of_answer(answer: &DriftAnswer) -> Vec<Json> {
    let mut results = Vec::new();
    if let Some(problem) = &answer.problem {
        let (word, message) = super::phrases::problem(problem);
        let (place, message) = split_place(message);
        let text = format!("{} {word}: {message}", answer.name);
        results.push(result(
            NOT_LOOKED_AT,
            "error",
            &text,
            location(answer, place),
        ));
    }
    results.extend(answer.findings.iter().map(|it| of_finding(answer, it)));
    for problem in &answer.rule_problems {
        let (place, message) = split_place(problem);
        results.push(result(
            RULE_PROBLEM,
            "warning",
            message,
            location(answer, place),
        ));
    }
    results
}

fn of_finding(answer: &DriftAnswer, finding: &Finding) -> Json {
    let level = match finding.kind {
        DriftKind::Outside => "error",
        DriftKind::CannotTell | DriftKind::Unmanaged => "warning",
        DriftKind::Pending => "note",
    };
    let mut text = format!("{}: {}", words::one_line(&answer.name), subject(finding));
    if let Some(sides) = sides(&finding.difference) {
        text.push_str(&format!(": {sides}"));
    }
    let details = [&finding.reason, &finding.difference.lines];
    for detail in details.into_iter().flatten() {
        text.push_str(&format!("\n\n{}", crate::text::escape_controls(detail)));
    }
    let place = finding.place.as_deref().and_then(read_place);
    let mut result = result(
        &rule_of(finding.kind),
        level,
        &text,
        location(answer, place),
    );
    result["partialFingerprints"] = json!({ "unfurlDriftId/v1": finding.id().to_string() });
    result["properties"] = json!({ "id": finding.id().to_string(), "cause": &*finding.cause() });
    if let Some(rule) = &finding.ignored_by {
        result["suppressions"] = json!([{ "kind": "external", "justification": &**rule }]);
    }
    result
}

fn result(rule: &str, level: &str, text: &str, location: Json) -> Json {
    json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": text },
        "locations": Json::Array(vec![location]),
    })
}

/// Returns a place in the model, or else the begin of the manifest: code hosts show no result without a place.
fn location(answer: &DriftAnswer, place: Option<SourcePosition>) -> Json {
    match place {
        Some(place) => sarif_location(&place.path.to_string_lossy(), place.line, place.column),
        None => {
            let manifest = answer.manifest.as_ref();
            let file = manifest.map_or_else(|| "ensemble.yaml".into(), |it| it.to_string_lossy());
            sarif_location(&file, 1, 1)
        }
    }
}
