//! Implements `unfurl drift accept`: writes ignore rules for findings into the ensemble.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use super::run::{DriftRequest, drift};
use crate::drift::{DriftAnswer, DriftKind, Finding, LoadProblem, Until};
use crate::ensemble::{Manifest, Record, RecordError};
use crate::name::{ChangeId, EnumWords as _, InstanceName};
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::frontend::JobFrontend;
use crate::ops::job_lock::{self, JobLock};
use crate::ops::request::JobRequest;
use crate::session;
use crate::system::fs;
use crate::text::did_you_mean;
use crate::value::Value;
use crate::yaml::{Node, Route, Schema, parse_text};

/// The section of the manifest that gets the rules: a new item of the list.
const NEW_RULE: &str = "environment/drift/ignore/-";
/// The least number of digits that name a finding.
const MIN_ID: usize = 4;

/// A request to accept findings.
#[derive(Debug)]
pub struct AcceptRequest {
    /// The check job of the ensemble, for the look that finds them.
    pub job: JobRequest,
    /// The ids of the findings, or their first digits.
    pub ids: Vec<String>,
    /// The instances of which all findings are accepted.
    pub instances: Vec<InstanceName>,
    pub until: Option<Until>,
    pub reason: String,
}

/// A rule that was written.
#[derive(Debug)]
pub struct WrittenRule {
    pub finding: Finding,
    /// The line of the rule in the manifest, counted from 1.
    pub line: Option<usize>,
}

/// The rules that were written into an ensemble.
#[derive(Debug)]
pub struct Accepted {
    pub manifest: PathBuf,
    pub rules: Vec<WrittenRule>,
    pub until: Option<Until>,
    pub reason: String,
}

/// Writes an ignore rule for each of the findings into `environment.drift.ignore` of the ensemble.
///
/// The findings are those of a new look, which is not recorded.
pub fn accept(request: &AcceptRequest, view: &mut dyn JobFrontend) -> Result<Accepted, Failure> {
    let answer = answer(&request.job, view)?;
    let chosen = choose(request, &answer)?;
    let found = session::find(&request.job.session)?;
    let locked = JobLock::acquire(found, &request.job, view)?;
    let written = write(request, &chosen, answer.at, &locked, view);
    locked.release(view);
    let (manifest, lines) = written?;
    let mut lines = lines.into_iter();
    let rules = chosen.into_iter().map(|finding| WrittenRule {
        finding,
        line: lines.next(),
    });
    Ok(Accepted {
        manifest,
        rules: rules.collect(),
        until: request.until,
        reason: request.reason.clone(),
    })
}

/// Returns the answer of a new look.
fn answer(job: &JobRequest, view: &mut dyn JobFrontend) -> Result<DriftAnswer, Failure> {
    let request = DriftRequest {
        jobs: vec![job.clone()],
        record: false,
    };
    let answers = drift(&request, view)?;
    let answer = answers.into_iter().next();
    let answer = answer.ok_or_else(|| Failure::usage("name one ensemble"))?;
    match &answer.problem {
        None => Ok(answer),
        Some(LoadProblem::Invalid(why)) => Err(Failure::new(FailureKind::Load, why, None)),
        Some(LoadProblem::Locked(why)) => Err(Failure::new(FailureKind::Locked, why, None)),
    }
}

/// Returns the findings that the request names, in the order of the answer.
fn choose(request: &AcceptRequest, answer: &DriftAnswer) -> Result<Vec<Finding>, Failure> {
    let open: Vec<&Finding> = answer.findings.iter().collect();
    let mut chosen: Vec<&Finding> = Vec::new();
    for id in &request.ids {
        chosen.push(find(id, &open)?);
    }
    for name in &request.instances {
        let is_of = |it: &&&Finding| it.subject.instance.as_ref() == Some(name);
        let own: Vec<_> = open.iter().copied().filter(|it| is_of(&it)).collect();
        if own.is_empty() {
            let message = format!("nothing of the instance `{name}` has drifted");
            return Err(unknown(message, name.as_str(), instances(&open)));
        }
        chosen.extend(own);
    }
    if chosen.is_empty() {
        let message = "no finding is named";
        let help =
            "name the ids of findings, as `unfurl drift` shows them, or an instance with `-i`";
        return Err(Failure::usage_with(message, help));
    }
    let is_chosen = |finding: &&&Finding| chosen.iter().any(|it| it.id() == finding.id());
    let chosen = open.iter().filter(is_chosen);
    let new: Vec<Finding> = chosen
        .filter(|finding| finding.ignored_by.is_none())
        .map(|finding| Finding::clone(finding))
        .collect();
    if new.is_empty() {
        let message = "rules ignore all these findings already";
        let help =
            "change the rules in the ensemble or its environment; `unfurl drift --all` shows them";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(help.to_owned()),
        ));
    }
    Ok(new)
}

/// Returns the finding whose id begins with some digits.
fn find<'f>(id: &str, open: &[&'f Finding]) -> Result<&'f Finding, Failure> {
    let digits = id.to_ascii_lowercase();
    let is_it = |finding: &&&Finding| finding.id().0.starts_with(&digits);
    let found: Vec<_> = open.iter().filter(is_it).collect();
    match &found[..] {
        [finding] if digits.len() >= MIN_ID => Ok(finding),
        [] => {
            let ids: Vec<_> = open
                .iter()
                .map(|finding| finding.id().to_string())
                .collect();
            let message = format!("no finding has the id `{id}`");
            Err(unknown(message, id, ids.iter().map(String::as_str)))
        }
        _ => {
            let message = format!("`{id}` is too short to name one finding");
            let help = format!("write at least {MIN_ID} digits, as many as make it unique");
            Err(Failure::usage_with(message, &help))
        }
    }
}

fn instances<'f>(open: &[&'f Finding]) -> impl Iterator<Item = &'f str> {
    let names = open.iter().map(|it| it.subject.instance.as_ref());
    names.flatten().map(InstanceName::as_str)
}

fn unknown<'n>(message: String, name: &str, known: impl Iterator<Item = &'n str>) -> Failure {
    let help = did_you_mean(name, known);
    let help = help.unwrap_or_else(|| "`unfurl drift` shows all findings".to_owned());
    Failure::usage_with(message, &help)
}

/// Writes the rules and returns the manifest with the lines of the rules.
fn write(
    request: &AcceptRequest,
    findings: &[Finding],
    at: Timestamp,
    locked: &JobLock,
    view: &mut dyn JobFrontend,
) -> Result<(PathBuf, Vec<usize>), Failure> {
    let session = locked.load(&request.job, view)?;
    let rule = |finding: &Finding| {
        let value = rule_value(finding, request.until, &request.reason);
        (NEW_RULE.to_owned(), value)
    };
    let id = ChangeId::job(at).map_err(|error| Failure::new(FailureKind::Internal, error, None))?;
    let record = Record::of_sections(id, findings.iter().map(rule).collect());
    let manifest = &session.manifest;
    let written = locked.ensemble.record(&record, manifest);
    written.map_err(|error| match error {
        RecordError::LockBroken => job_lock::lock_broken_failure(&error),
        RecordError::Publish(error) => {
            let message = format!("the rules cannot be written: {error}");
            let help = "write them under `drift.ignore` of an environment in `unfurl.yaml`";
            Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
        }
    })?;
    let lines = last_lines(manifest, findings.len());
    Ok((manifest.path().to_path_buf(), lines))
}

/// Returns the lines of the last rules of a manifest on disk.
fn last_lines(manifest: &Manifest, count: usize) -> Vec<usize> {
    let Ok(text) = fs::read_to_string(manifest.path()) else {
        return Vec::new();
    };
    let Ok(root) = parse_text(Schema::Core, &text) else {
        return Vec::new();
    };
    let route = Route::keys(["environment", "drift", "ignore"]);
    let rules = route.find(&root).and_then(Node::as_seq).unwrap_or_default();
    let last = &rules[rules.len().saturating_sub(count)..];
    let line = |rule: &Node| {
        let before = text.get(..rule.span().start as usize).unwrap_or_default();
        before.matches('\n').count() + 1
    };
    last.iter().map(line).collect()
}

/// Returns the rule that ignores a finding as it is: another difference of the same attribute raises the alarm.
fn rule_value(finding: &Finding, until: Option<Until>, reason: &str) -> Value {
    let subject = &finding.subject;
    let text = |text: &str| Value::str(text);
    let instance = subject.instance.as_ref().map(InstanceName::as_str);
    let fields = [
        ("instance", instance.map(|name| text(&literal(name)))),
        (
            "host",
            subject.host.as_deref().map(|host| text(&literal(host))),
        ),
        ("attribute", Some(text(&literal(&subject.attribute)))),
        // The reason why nothing could be determined may read differently each time.
        (
            "cause",
            (finding.kind != DriftKind::CannotTell).then(|| text(&finding.cause())),
        ),
        ("kind", Some(text(finding.kind.as_str()))),
        ("until", until.map(|until| text(&until.to_string()))),
        ("reason", Some(text(reason))),
    ];
    let fields = fields.into_iter();
    Value::map(fields.filter_map(|(name, value)| Some((Arc::from(name), value?))))
}

/// Returns a pattern that matches a text; characters that would be wildcards match any character.
fn literal(text: &str) -> String {
    text.replace(['*', '['], "?")
}
