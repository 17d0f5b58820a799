//! The drift record as a list of its changes, newest first.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::json::{last_set_json, text, time};
use super::phrases::{Section, kind_word, sides, subject, times};
use crate::drift::{
    DriftKind, FindingEvent, RecordEntry, RecordedAnswer, RecordedFinding, Verdict, verdict_word,
};
use crate::name::{EnumWords as _, InstanceName};
use crate::ui::table::{Table, TableLayout};
use crate::ui::words;

/// The drift record of an ensemble.
#[derive(Debug)]
pub struct DriftLogView<'a> {
    pub name: &'a str,
    pub manifest: &'a Path,
    /// The entries to show, newest first.
    pub entries: Vec<RecordEntry<'a>>,
    /// The number of all entries.
    pub total: usize,
    /// Messages about lines that are not readable.
    pub problems: &'a [String],
}

impl DriftLogView<'_> {
    /// Renders the record as a table.
    pub fn text(&self, layout: TableLayout) -> String {
        if self.entries.is_empty() {
            let name = words::one_line(self.name);
            return format!("{name}: no look for drift is recorded; `unfurl drift` looks\n");
        }
        let has_environment = self.entries.iter().any(|it| environment(it).is_some());
        let mut headings = vec!["Time", "Event", "Id", "What"];
        if has_environment {
            headings.insert(1, "Environment");
        }
        let mut table = Table::new(&headings).prose(headings.len() - 1);
        for entry in &self.entries {
            let [time, event, id, what] = cells(entry);
            let mut row = vec![time, event, id, what];
            if has_environment {
                row.insert(
                    1,
                    words::one_line(environment(entry).unwrap_or("")).into_owned(),
                );
            }
            table.row(row.iter().map(String::as_str));
        }
        let mut text = table.render(layout);
        let more = self.total.saturating_sub(self.entries.len());
        // Programs expect rows only.
        if more > 0 && !layout.for_programs {
            let more = words::count(more, "earlier row");
            words::append(&mut text, format_args!("and {more}; `-n 0` shows all\n"));
        }
        text
    }

    /// Returns the record for programs.
    pub fn json(&self) -> Json {
        let entries: Vec<Json> = self.entries.iter().map(entry_json).collect();
        json!({
            "name": self.name,
            "manifest": self.manifest.display().to_string(),
            "entries": entries,
            "total": self.total,
            "problems": self.problems,
        })
    }
}

fn environment<'e>(entry: &'e RecordEntry<'_>) -> Option<&'e str> {
    match entry {
        RecordEntry::Answer(answer) => answer.environment.as_deref(),
        RecordEntry::Finding(finding) => finding.environment.as_deref(),
    }
}

/// Returns time, event, id and description.
fn cells(entry: &RecordEntry<'_>) -> [String; 4] {
    match entry {
        RecordEntry::Answer(answer) => [
            second(answer.first),
            verdict_text(answer.verdict).to_owned(),
            "-".to_owned(),
            answer_text(answer),
        ],
        RecordEntry::Finding(finding) => [
            second(finding.at),
            finding.event.as_str().to_owned(),
            finding.id.to_string(),
            finding_text(finding),
        ],
    }
}

fn verdict_text(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::CannotTell => Section::CannotTell.word(),
        other => verdict_word(other),
    }
}

fn second(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn answer_text(answer: &RecordedAnswer) -> String {
    let (looked, total) = (answer.looked_at, answer.total);
    let mut text = times(answer.count);
    if answer.count > 1 {
        text.push_str(&format!(" until {}", second(answer.last)));
    }
    text.push_str(&format!(", {looked} of {total} looked at"));
    if let Some(scope) = &answer.scope {
        let names: Vec<&str> = scope.iter().map(InstanceName::as_str).collect();
        text.push_str(&format!(
            ", only {}",
            words::one_line(&words::names(&names, 4))
        ));
    }
    text
}

fn finding_text(recorded: &RecordedFinding) -> String {
    let finding = &recorded.finding;
    let mut text = subject(finding);
    if matches!(recorded.event, FindingEvent::New | FindingEvent::Changed) {
        text.insert_str(0, &format!("{}, ", kind_word(finding.kind)));
        let sides = sides(&finding.difference);
        text.extend(sides.map(|sides| format!(": {sides}")));
        let reason = finding.reason.as_deref();
        let reason = reason.filter(|_| finding.kind == DriftKind::CannotTell);
        text.extend(reason.map(|reason| format!(": {}", words::one_line(reason))));
    }
    let rule = finding.ignored_by.as_deref();
    match (recorded.event, rule) {
        (FindingEvent::Ruled, None) => text.push_str(": no rule ignores it any more"),
        (_, Some(rule)) => {
            let rule = words::one_line(rule);
            text.push_str(&format!("; ignored by the rule {rule}"));
        }
        _ => {}
    }
    text
}

fn entry_json(entry: &RecordEntry<'_>) -> Json {
    match entry {
        RecordEntry::Answer(answer) => json!({
            "time": time(answer.first),
            "event": "answer",
            "verdict": verdict_word(answer.verdict),
            "last": time(answer.last),
            "count": answer.count,
            "looked_at": answer.looked_at,
            "total": answer.total,
            "environment": text(answer.environment.as_ref()),
            "only": answer.scope.as_ref().map(|scope| {
                scope.iter().map(InstanceName::as_str).collect::<Vec<_>>()
            }),
        }),
        RecordEntry::Finding(recorded) => finding_json(recorded),
    }
}

fn finding_json(recorded: &RecordedFinding) -> Json {
    let finding = &recorded.finding;
    let subject = &finding.subject;
    let mut json = Map::new();
    let mut add = |name: &str, value: Json| json.insert(name.to_owned(), value);
    add("time", time(recorded.at).into());
    add("event", recorded.event.as_str().into());
    add("environment", text(recorded.environment.as_ref()).into());
    add("id", recorded.id.to_string().into());
    let instance = subject.instance.as_ref().map(InstanceName::as_str);
    add("instance", instance.into());
    add("host", text(subject.host.as_ref()).into());
    add("attribute", (*subject.attribute).into());
    add("ignored_by", text(finding.ignored_by.as_ref()).into());
    if matches!(recorded.event, FindingEvent::New | FindingEvent::Changed) {
        let difference = &finding.difference;
        add("kind", finding.kind.as_str().into());
        add("from", text(difference.from.as_ref()).into());
        add("to", text(difference.to.as_ref()).into());
        add("lines", text(difference.lines.as_ref()).into());
        add("reason", text(finding.reason.as_ref()).into());
        add("place", text(finding.place.as_ref()).into());
        add("left_by", text(finding.left_by.as_ref()).into());
        add("cause", (*recorded.cause).into());
        add(
            "last_set",
            finding.last_set.as_ref().map(last_set_json).into(),
        );
    }
    json.into()
}
