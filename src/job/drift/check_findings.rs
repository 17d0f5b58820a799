//! The findings of one check: a status or attributes other than recorded, states that would change something, and files
//! that differ.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::check::{Check, status_finding, text_of};
use super::differences::difference_findings;
use super::pending::PendingChanges;
use super::states::state_findings;
use crate::diagnostic::Span;
use crate::drift::{Difference, DriftKind, Finding};
use crate::job::check_run::CheckedInstance;
use crate::job::compared_file::FileState;
use crate::name::{InstanceName, Status};
use crate::topology::{Creator, Entity, Topology};
use crate::value::{Map, Value};

/// The maximum number of characters of a reason that commands print.
const MAX_REASON: usize = 500;

/// The known facts about an ensemble, for the findings of its checks.
pub(super) struct CheckContext<'a> {
    /// The recorded instances.
    pub(super) before: &'a Topology,
    pub(super) found_by_checks: &'a BTreeSet<InstanceName>,
    pub(super) pending: &'a PendingChanges,
    pub(super) place: &'a dyn Fn(Span) -> Option<Arc<str>>,
}

/// Returns the findings of a check. None if there was nothing to look at.
pub(super) fn check_findings(
    checked: &CheckedInstance,
    context: &CheckContext<'_>,
) -> Option<Vec<Finding>> {
    let entity = context.before.entity(checked.target);
    let result = &checked.record.data.result;
    let compares = checked.is_test || result.get("states").is_some();
    let pending = context.pending;
    let is_pending = pending.concerns(&entity.name, &checked.reads, compares);
    let check = Check {
        checked,
        name: &entity.name,
        kind: if is_pending {
            DriftKind::Pending
        } else {
            DriftKind::Outside
        },
        place: (context.place)(checked.record.place),
    };
    let has_ended = checked.record.end.is_some();
    let mut findings = file_findings(&check);
    findings.extend(state_findings(&check, result));
    if checked.is_test {
        findings.extend(difference_findings(&check, result));
    }
    let has_parts = !checked.files.is_empty()
        || ["states", "differences"]
            .iter()
            .any(|key| result.get(key).is_some());
    let failed = !checked.record.is_ok() || !has_ended;
    let is_explained = findings.iter().any(|it| it.kind == DriftKind::CannotTell);
    let is_cut_off = !checked.is_test && was_cut_off(result);
    let says_nothing = failed && (checked.status.is_none() || checked.is_test);
    if (says_nothing || is_cut_off) && !is_explained {
        findings.push(failure(&check));
    } else if checked.is_test && !has_parts && !failed {
        return None;
    } else if !checked.is_test && (!has_parts || !failed) {
        let is_explained = !findings.is_empty();
        let was_checked = context.found_by_checks.contains(&entity.name);
        let expected = expected_status(entity, was_checked);
        let change = status_change(&check, entity, expected);
        findings.extend(change.filter(|_| !is_explained));
    }
    findings.extend(attribute_findings(&check, context.before));
    Some(findings)
}

/// Returns true if the command of a check did not end by itself: it exceeded its time limit, or its machine was away.
/// A status that the result template makes of that says nothing about the instance.
fn was_cut_off(result: &Value) -> bool {
    result.get("cmd").is_some() && result.get("returncode").is_none_or(Value::is_null)
}

/// Returns the finding that a check failed.
fn failure(check: &Check<'_>) -> Finding {
    let record = &check.checked.record;
    let mut reasons: Vec<String> = record.errors().iter().map(ToString::to_string).collect();
    if reasons.is_empty() {
        reasons.extend(message(&record.data.result));
    }
    if reasons.is_empty() {
        reasons.push(format!("`{}` did not run", record.operation));
    }
    let mut finding = check.finding("status", DriftKind::CannotTell, Difference::default());
    finding.reason = Some(cut(&reasons.join("; ")).into());
    finding
}

/// Returns the finding that an instance has another status than expected.
fn status_change(check: &Check<'_>, entity: &Entity, expected: Status) -> Option<Finding> {
    // A check that succeeds and states nothing has found nothing wrong.
    let found = check.checked.status.unwrap_or(expected);
    if found == Status::Unknown {
        let mut finding = status_finding(check.name, DriftKind::CannotTell);
        finding.subject.host.clone_from(&check.checked.host);
        finding.place.clone_from(&check.place);
        finding.reason = Some("the check does not say in which state the instance is".into());
        return Some(finding);
    }
    let is_missing = |status| matches!(status, Status::Absent | Status::Pending);
    if found == expected || is_missing(found) && is_missing(expected) {
        return None;
    }
    let is_unmanaged = found.is_present() && (is_missing(expected) || expected == Status::Unknown);
    let kind = if is_unmanaged && !is_created(entity) {
        DriftKind::Unmanaged
    } else {
        check.kind
    };
    let difference = Difference {
        from: Some(expected.as_str().into()),
        to: Some(found.as_str().into()),
        lines: None,
    };
    let mut finding = check.finding("status", kind, difference);
    let message = message(&check.checked.record.data.result);
    let message = message.filter(|message| message != found.as_str());
    finding.reason = message.map(|message| cut(&message).into());
    Some(finding)
}

/// Returns the status that an instance should have.
///
/// An instance that a job has created should be ok, although its job failed later or a check has found another status:
/// otherwise each difference would be found only once. An instance that a job has removed should be absent.
fn expected_status(entity: &Entity, was_checked: bool) -> Status {
    let recorded = entity.local.unwrap_or(Status::Unknown);
    let is_removed = matches!(recorded, Status::Absent | Status::Pending) && !was_checked;
    if is_created(entity) && !is_removed {
        Status::Ok
    } else {
        recorded
    }
}

fn is_created(entity: &Entity) -> bool {
    entity.created.as_ref().is_some_and(Creator::is_truthy)
}

/// Returns the attributes that a check set to other values than recorded.
fn attribute_findings(check: &Check<'_>, before: &Topology) -> Vec<Finding> {
    let changed = check.checked.attributes.iter();
    let values = changed.flat_map(|(of, values)| values.iter().map(move |it| (*of, it)));
    let findings = values.filter_map(|(of, (name, value))| {
        // Instances that the check itself added have no record.
        let entity = before.get(of)?;
        let recorded = entity.attributes.get(name).map(Value::redacted);
        let attribute = if of == check.checked.target {
            name.to_string()
        } else {
            format!("{}::{name}", entity.name)
        };
        let difference = Difference {
            from: recorded.as_ref().map(text_of),
            to: Some(text_of(value)),
            lines: None,
        };
        let mut finding = check.finding(&attribute, check.kind, difference);
        finding.place = None;
        Some(finding)
    });
    findings.collect()
}

/// Returns the files that a test run found different.
fn file_findings(check: &Check<'_>) -> Vec<Finding> {
    let files = check.checked.files.iter();
    let findings = files.filter_map(|file| {
        let attribute = file.path.display().to_string();
        let of = |kind, difference| check.finding(&attribute, kind, difference);
        let sides = |from: &str, to: &str, lines: Option<&String>| Difference {
            from: Some(from.into()),
            to: Some(to.into()),
            lines: lines.map(|lines| lines.as_str().into()),
        };
        match &file.state {
            FileState::Same => None,
            FileState::Missing => Some(of(check.kind, sides("file", "missing", None))),
            FileState::Differs(lines) => Some(of(
                check.kind,
                sides("as written", "changed", lines.as_ref()),
            )),
            FileState::Unreadable(why) => {
                let mut finding = of(DriftKind::CannotTell, Difference::default());
                finding.reason = Some(why.as_str().into());
                Some(finding)
            }
        }
    });
    findings.collect()
}

/// Returns the message of a result: the text that the operation gives, or else the output of its command.
fn message(result: &Value) -> Option<String> {
    let map: &Map = result.as_map()?;
    let text = |name: &str| {
        let text = map.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    ["message", "stderr", "stdout"].into_iter().find_map(text)
}

/// Returns the beginning of a long text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_REASON) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
