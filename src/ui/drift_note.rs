//! Words about recorded drift for `status`, `explain` and `plan`.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::words;
use crate::drift::{Difference, DriftKind, Finding, KnownFinding, LastSet};
use crate::name::EnumWords as _;

/// The maximum number of characters of each side of a difference.
const MAX_SIDE: usize = 40;

/// Returns the drift of an instance in a few words: `drifted since TIME (seen 3 times): status: ok → error`. None
/// without any.
pub fn drift_note(findings: &[&Finding]) -> Option<String> {
    let first = findings.first()?;
    let since = findings.iter().filter_map(|it| it.sightings.as_ref());
    let since = since.min_by_key(|sightings| sightings.since);
    let since = since.map_or(String::new(), |sightings| {
        let (time, count) = (time(sightings.since), sightings.count);
        format!(" since {time}{}", seen_times(count))
    });
    let more = match findings.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!("drifted{since}: {}{more}", difference(first)))
}

/// Returns the recorded drift of an instance for programs.
pub fn drift_note_json(findings: &[&Finding]) -> Option<Json> {
    let since = findings.iter().filter_map(|it| it.sightings.as_ref());
    let since = since.map(|sightings| sightings.since).min();
    let ids: Vec<String> = findings.iter().map(|it| it.id().to_string()).collect();
    let note = drift_note(findings)?;
    Some(json!({ "since": since.map(|time| time.to_string()), "findings": ids, "note": note }))
}

/// Returns the attribute with both sides on one line.
pub fn difference(finding: &Finding) -> String {
    let attribute = words::one_line(&finding.subject.attribute);
    let Difference { from, to, lines } = &finding.difference;
    match (from, to) {
        (None, None) if lines.is_some() => format!("{attribute}: other content"),
        (None, None) => match &finding.reason {
            Some(reason) => format!("{attribute}: {}", words::one_line(reason)),
            None => attribute.into_owned(),
        },
        _ => format!(
            "{attribute}: {} → {}",
            side(from.as_ref()),
            side(to.as_ref())
        ),
    }
}

/// Returns a recorded finding for programs.
pub fn known_finding_json(known: &KnownFinding) -> Json {
    let finding = known.last_determined();
    let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
    let set = finding.last_set.as_ref();
    let sightings = finding.sightings.as_ref();
    let unknown = known.before.is_some().then_some(&known.finding.reason);
    json!({
        "id": known.id.to_string(),
        "kind": finding.kind.as_str(),
        "attribute": &*finding.subject.attribute,
        "from": text(&finding.difference.from),
        "to": text(&finding.difference.to),
        "lines": text(&finding.difference.lines),
        "cause": &*known.cause,
        "since": sightings.map(|it| it.since.to_string()),
        "seen": sightings.map(|it| it.seen.to_string()),
        "count": sightings.map(|it| it.count),
        "reason": text(&finding.reason),
        "cannot_tell": unknown.map(text),
        "left_by": text(&finding.left_by),
        "ignored_by": text(&finding.ignored_by),
        "last_set": set.map(|set| json!({
            "job": &*set.job,
            "task": text(&set.task),
            "commit": text(&set.commit),
            "person": text(&set.person),
            "time": set.time.map(|time| time.to_string()),
        })),
    })
}

fn side(side: Option<&Arc<str>>) -> String {
    match side {
        Some(text) => words::shorten(&words::one_line(text), MAX_SIDE).into_owned(),
        None => "nothing".to_owned(),
    }
}

fn seen_times(count: u32) -> String {
    match count {
        0 | 1 => String::new(),
        count => format!(" (seen {count} times)"),
    }
}

/// Returns a time for people, to the second.
pub fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Appends the recorded findings about an instance, as `explain` shows them.
pub fn write_findings(text: &mut String, findings: &[KnownFinding]) {
    if findings.is_empty() {
        return;
    }
    text.push_str("\nDrift, according to the last looks (`unfurl drift` looks again):\n");
    for known in findings {
        let finding = known.last_determined();
        let kind = finding.kind.as_str();
        words::append(text, format_args!("- {kind}: {}\n", difference(finding)));
        let mut details = Vec::new();
        if let Some(sightings) = &finding.sightings {
            details.push(format!(
                "since {}, last seen {}{}",
                time(sightings.since),
                time(sightings.seen),
                seen_times(sightings.count)
            ));
        }
        if known.before.is_some() {
            let reason = known
                .finding
                .reason
                .as_deref()
                .unwrap_or("nobody knows why");
            details.push(format!("nobody can tell now: {}", words::one_line(reason)));
        }
        details.extend(finding.last_set.as_ref().map(last_set));
        let job = finding.left_by.as_deref();
        details.extend(job.map(|job| format!("left by the failed job {}", words::one_line(job))));
        let rule = finding.ignored_by.as_deref();
        details.extend(rule.map(|rule| format!("ignored: {}", words::one_line(rule))));
        let reason = finding.reason.as_deref().filter(|_| {
            finding.kind != DriftKind::CannotTell && finding.difference != Difference::default()
        });
        details.extend(reason.map(|reason| words::one_line(reason).into_owned()));
        for detail in details {
            words::append(text, format_args!("    {detail}\n"));
        }
    }
}

/// Returns who set a value last, as far as it is known.
pub fn last_set(set: &LastSet) -> String {
    let mut text = "last set".to_owned();
    if let Some(person) = &set.person {
        words::append(&mut text, format_args!(" by {}", words::one_line(person)));
    }
    words::append(
        &mut text,
        format_args!(" in job {}", words::one_line(&set.job)),
    );
    if let Some(task) = set.task.as_deref().filter(|task| *task != &*set.job) {
        words::append(&mut text, format_args!(", task {}", words::one_line(task)));
    }
    if let Some(commit) = &set.commit {
        words::append(
            &mut text,
            format_args!(", commit {}", words::one_line(commit)),
        );
    }
    if let Some(at) = set.time {
        words::append(&mut text, format_args!(", {}", time(at)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{Sightings, Subject};
    use crate::name::InstanceName;

    fn finding() -> Finding {
        let subject = Subject {
            instance: Some(InstanceName::new("web")),
            host: None,
            attribute: "status".into(),
        };
        let difference = Difference {
            from: Some("ok".into()),
            to: Some("error".into()),
            lines: None,
        };
        let at: Timestamp = "2026-01-01T00:00:00.5Z".parse().unwrap();
        Finding {
            sightings: Some(Sightings {
                since: at,
                seen: at,
                count: 3,
            }),
            last_set: Some(LastSet {
                job: "A6BL7ntS0000".into(),
                commit: Some("0123456789ab".into()),
                person: Some("Ada".into()),
                ..LastSet::default()
            }),
            left_by: Some("A6BL7ntS0000".into()),
            ..Finding::new(subject, DriftKind::Outside, difference)
        }
    }

    #[test]
    fn the_drift_of_an_instance_is_one_line() {
        assert_eq!(drift_note(&[]), None);
        let first = finding();
        let mut file = finding();
        file.difference = Difference {
            lines: Some("-x\n".into()),
            ..Difference::default()
        };
        assert_eq!(difference(&file), "status: other content");
        let note = drift_note(&[&first, &file]).unwrap();
        assert_eq!(
            note,
            "drifted since 2026-01-01 00:00:00 UTC (seen 3 times): status: ok → error, and 1 more"
        );
    }

    #[test]
    fn findings_have_their_history_and_origin() {
        let known = KnownFinding {
            id: finding().id(),
            cause: finding().cause(),
            finding: finding(),
            before: None,
        };
        let mut text = String::new();
        write_findings(&mut text, &[known]);
        insta::assert_snapshot!(text, @"

        Drift, according to the last looks (`unfurl drift` looks again):
        - outside: status: ok → error
            since 2026-01-01 00:00:00 UTC, last seen 2026-01-01 00:00:00 UTC (seen 3 times)
            last set by Ada in job A6BL7ntS0000, commit 0123456789ab
            left by the failed job A6BL7ntS0000
        ");
    }
}
