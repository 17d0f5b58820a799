//! The answers of `unfurl drift` as one JSON document. `schemas/drift.json` describes it.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::drift::{
    DriftAnswer, Finding, FindingId, LastSet, LoadProblem, Transitions, verdict, verdict_word,
};
use crate::name::{EnumWords as _, InstanceName};

/// Returns the answers with their verdict.
pub fn drift_json(answers: &[DriftAnswer]) -> Value {
    let ensembles: Vec<Value> = answers.iter().map(ensemble).collect();
    json!({ "status": verdict_word(verdict(answers)), "ensembles": ensembles })
}

fn ensemble(answer: &DriftAnswer) -> Value {
    let texts =
        |texts: &[Arc<str>]| -> Vec<String> { texts.iter().map(ToString::to_string).collect() };
    let findings: Vec<Value> = answer.findings.iter().map(finding).collect();
    json!({
        "name": &*answer.name,
        "status": verdict_word(answer.verdict()),
        "manifest": answer.manifest.as_ref().map(|path| path.display().to_string()),
        "environment": text(answer.environment.as_ref()),
        "at": time(answer.at),
        "looked_at": answer.looked_at,
        "total": answer.total,
        "problem": answer.problem.as_ref().map(problem),
        "rule_problems": texts(&answer.rule_problems),
        "findings": findings,
        "clean": texts(&answer.clean),
        "transitions": answer.transitions.as_ref().map(transitions),
    })
}

fn problem(problem: &LoadProblem) -> Value {
    let (kind, message) = match problem {
        LoadProblem::Invalid(message) => ("invalid", message),
        LoadProblem::Locked(message) => ("locked", message),
    };
    json!({ "kind": kind, "message": &**message })
}

fn finding(finding: &Finding) -> Value {
    let subject = &finding.subject;
    let difference = &finding.difference;
    let sightings = finding.sightings.as_ref();
    let mut json = Map::new();
    let mut add = |name: &str, value: Value| json.insert(name.to_owned(), value);
    add("id", finding.id().to_string().into());
    add("kind", finding.kind.as_str().into());
    let instance = subject.instance.as_ref().map(InstanceName::as_str);
    add("instance", instance.into());
    add("host", text(subject.host.as_ref()).into());
    add("attribute", (*subject.attribute).into());
    add("from", text(difference.from.as_ref()).into());
    add("to", text(difference.to.as_ref()).into());
    add("lines", text(difference.lines.as_ref()).into());
    add("reason", text(finding.reason.as_ref()).into());
    add("place", text(finding.place.as_ref()).into());
    add("left_by", text(finding.left_by.as_ref()).into());
    add("cause", (*finding.cause()).into());
    add("since", sightings.map(|it| time(it.since)).into());
    add("seen", sightings.map(|it| time(it.seen)).into());
    add("count", sightings.map(|it| it.count).into());
    add(
        "last_set",
        finding.last_set.as_ref().map(last_set_json).into(),
    );
    add("ignored_by", text(finding.ignored_by.as_ref()).into());
    let rule = finding
        .rule
        .as_ref()
        .map(|rule| json!({ "until": text(rule.until.as_ref()), "reason": &*rule.reason }));
    add("rule", rule.into());
    add("on_drift", finding.on_drift.as_str().into());
    json.into()
}

/// Returns the job that last set a value, for programs.
pub(super) fn last_set_json(set: &LastSet) -> Value {
    json!({
        "job": &*set.job,
        "task": text(set.task.as_ref()),
        "commit": text(set.commit.as_ref()),
        "person": text(set.person.as_ref()),
        "time": set.time.map(time),
    })
}

fn transitions(transitions: &Transitions) -> Value {
    let ids = |ids: &[FindingId]| -> Vec<String> { ids.iter().map(ToString::to_string).collect() };
    let gone: Vec<Value> = transitions.gone.iter().map(finding).collect();
    let row = transitions
        .row
        .as_ref()
        .map(|row| json!({ "since": time(row.since), "count": row.count }));
    json!({
        "new": ids(&transitions.new),
        "changed": ids(&transitions.changed),
        "gone": gone,
        "unchanged": row,
    })
}

pub(super) fn text(text: Option<&Arc<str>>) -> Option<&str> {
    text.map(|text| &**text)
}

/// Returns a time as RFC 3339 in UTC.
pub(super) fn time(time: Timestamp) -> String {
    time.to_string()
}
