//! Renders the explanation of one instance as text and as JSON.
//!
//! `cli::commands::explain` fills an [`ExplainView`] from the answer of `ops::explain`.

use serde_json::{Map, Value as Json, json};

use super::change::{inline_value_within, limited_json, location_json};
use super::drift_note::{known_finding_json, write_findings};
use super::layout::Layout;
use super::paint::{Paint, Tone};
use super::plan::PlanTask;
use super::words;
use crate::diagnostic::SourcePosition;
use crate::drift::KnownFinding;
use crate::name::{NodeState, Status};
use crate::value::{REDACTED, Value};

/// The maximum number of linked instances in the text.
const MAX_LINKS: usize = 10;
/// The maximum number of attributes named per linked instance.
const MAX_ATTRIBUTES: usize = 8;
/// The maximum number of attributes that the text shows of the last change.
const MAX_SET_ATTRIBUTES: usize = 20;

/// The explanation of one instance: status, plan, links and last change.
#[derive(Debug, Clone, Default)]
pub struct ExplainView {
    pub name: String,
    /// The key of the instance in records.
    pub key: Option<String>,
    /// The node template of the instance.
    pub template: String,
    /// The node type of the template.
    pub type_name: String,
    /// The position of the template in its source file.
    pub location: Option<SourcePosition>,
    /// Whether the instance exists in the record.
    pub exists: bool,
    pub local: Option<Status>,
    /// The status as other instances see it, which takes dependencies into account.
    pub effective: Option<Status>,
    /// The state in the TOSCA life cycle.
    pub state: Option<NodeState>,
    /// The reason for which the effective status differs from the local one.
    pub status_reason: Option<String>,
    /// Further facts about the instance, such as its creator.
    pub facts: Vec<ExplainFact>,
    pub workflow: String,
    /// The planned tasks, each with the part of the instance (such as a relationship) that it is
    /// for.
    pub tasks: Vec<(Option<String>, PlanTask)>,
    /// The reasons for which a job would run no task, or not all.
    pub skip_reasons: Vec<String>,
    /// The instances that this instance depends on.
    pub depends_on: Vec<LinkView>,
    /// The instances that depend on this instance.
    pub dependents: Vec<LinkView>,
    /// The last recorded change of the instance.
    pub last_change: Option<LastChange>,
    /// The last failure of an operation, if nothing has succeeded since.
    pub failure: Option<FailureLine>,
    /// The drift that the last looks recorded.
    pub drift: Vec<KnownFinding>,
}

/// A failed operation of an instance, or one that was not reached because of another failure.
#[derive(Debug, Clone, Default)]
pub struct FailureLine {
    pub operation: String,
    /// The end time in the format of records.
    pub time: Option<String>,
    pub job: String,
    pub messages: Vec<String>,
    /// Whether the operation never ran.
    pub is_blocked: bool,
    /// Whether the operation is a check that found the status.
    pub is_finding: bool,
    /// The name of the failed instance because of which the operation never ran.
    pub cause: Option<String>,
    /// The position of the operation in its source file.
    pub location: Option<SourcePosition>,
}

/// A fact about an instance, for text and for JSON output.
#[derive(Debug, Clone)]
pub struct ExplainFact {
    /// The key in the JSON output.
    pub key: &'static str,
    /// The label in the text output.
    pub label: &'static str,
    /// The value in the text output.
    pub text: String,
    /// The value in the JSON output.
    pub value: Value,
}

/// A link between the explained instance and another one.
#[derive(Debug, Clone)]
pub struct LinkView {
    pub name: String,
    /// The effective status of the other instance.
    pub status: Status,
    /// Whether one of the two is hosted on the other.
    pub is_host: bool,
    /// Whether one of the two belongs to the topology that substitutes the other.
    pub is_substitution: bool,
    /// The names of the requirements between the two.
    pub requirements: Vec<String>,
    /// The attributes and properties of the other that the dependent one reads.
    pub attributes: Vec<String>,
}

/// A recorded change of an instance.
#[derive(Debug, Clone, Default)]
pub struct LastChange {
    pub id: String,
    /// The end time in the format of records.
    pub time: Option<String>,
    /// The id of the job that made the change.
    pub job: Option<String>,
    pub operation: Option<String>,
    /// The reason for which the operation ran.
    pub reason: Option<String>,
    /// The attributes that the change set, with their values.
    pub set: Vec<(String, Value)>,
    /// The reason for which details are missing.
    pub unknown: Option<String>,
}

impl ExplainView {
    /// Renders the explanation as text. Parts that can be cut keep to `width` columns.
    pub fn text(&self, width: u16, paint: Paint) -> String {
        let width = usize::from(width);
        let mut text = String::new();
        self.write_head(&mut text, width, paint);
        self.write_plan(&mut text, width);
        write_links(&mut text, "Depends on", &self.depends_on);
        write_links(&mut text, "Needed by", &self.dependents);
        if let Some(change) = &self.last_change {
            change.write(&mut text, width);
        }
        write_findings(&mut text, &self.drift);
        text
    }

    fn write_head(&self, text: &mut String, width: usize, paint: Paint) {
        let mut head = words::one_line(&self.name).into_owned();
        let kind = if self.exists { "" } else { "does not exist; " };
        let (template, of) = (&self.template, &self.type_name);
        let (template, of) = (words::one_line(template), words::one_line(of));
        words::append(
            &mut head,
            format_args!(": {kind}template `{template}`, type {of}"),
        );
        text.push_str(&head);
        if let Some(place) = &self.location {
            let place = place.to_string();
            let fits = head.chars().count() + 3 + place.chars().count() <= width;
            let before = if fits { "   " } else { "\n   " };
            words::append(text, format_args!("{before}{place}"));
        }
        text.push('\n');
        let status = match (self.local, self.effective) {
            (Some(local), Some(effective)) if local != effective => {
                format!("{effective} (own status: {local})")
            }
            (local, effective) => effective
                .or(local)
                .map_or_else(|| "none".to_owned(), |status| status.to_string()),
        };
        let reason = self.status_reason.as_deref();
        let reason = reason.map_or(String::new(), |why| format!(", because {why}"));
        words::fact(text, "status", &format!("{status}{reason}"));
        if let Some(state) = self.state {
            words::fact(text, "state", state.as_str());
        }
        if let Some(failure) = &self.failure {
            failure.write(text, paint);
        }
        for known in &self.facts {
            words::fact(text, known.label, &known.text);
        }
    }

    fn write_plan(&self, text: &mut String, width: usize) {
        let done = if self.tasks.is_empty() {
            "would do nothing to it"
        } else {
            "would run"
        };
        let workflow = words::one_line(&self.workflow);
        words::append(text, format_args!("\nThe workflow `{workflow}` {done}:\n"));
        for (part, task) in &self.tasks {
            let of = part.as_ref().map_or(String::new(), |part| {
                format!(" of {}", words::one_line(part))
            });
            words::append(text, format_args!("- {}{of}\n", task.heading()));
            task.write_changes(text, 3, Layout::plain(width));
            if let Some(note) = &task.note {
                words::append(text, format_args!("   ({})\n", words::one_line(note)));
            }
        }
        for why in &self.skip_reasons {
            words::append(text, format_args!("- {}\n", words::one_line(why)));
        }
    }

    pub fn json(&self) -> Json {
        let tasks = self.tasks.iter().map(|(part, task)| {
            let mut json = task.json(true);
            if let (Some(part), Json::Object(json)) = (part, &mut json) {
                json.insert("of".to_owned(), part.as_str().into());
            }
            json
        });
        let mut json = json!({
            "name": self.name,
            "key": self.key,
            "template": self.template,
            "type": self.type_name,
            "place": location_json(self.location.as_ref()),
            "exists": self.exists,
            "status": self.local.map(Status::as_str),
            "effective": self.effective.map(Status::as_str),
            "statusBecause": self.status_reason,
            "state": self.state.map(NodeState::as_str),
            "workflow": self.workflow,
            "inPlan": !self.tasks.is_empty(),
            "tasks": tasks.collect::<Vec<_>>(),
            "whyNot": self.skip_reasons,
            "dependsOn": self.depends_on.iter().map(LinkView::json).collect::<Vec<_>>(),
            "dependents": self.dependents.iter().map(LinkView::json).collect::<Vec<_>>(),
            "failure": self.failure.as_ref().map(FailureLine::json),
            "lastChange": self.last_change.as_ref().map(LastChange::json),
        });
        for fact in &self.facts {
            json[fact.key] = limited_json(&fact.value);
        }
        if !self.drift.is_empty() {
            json["drift"] = self.drift.iter().map(known_finding_json).collect();
        }
        json
    }
}

fn write_links(text: &mut String, heading: &str, links: &[LinkView]) {
    if links.is_empty() {
        words::append(text, format_args!("\n{heading}: nothing\n"));
        return;
    }
    words::append(text, format_args!("\n{heading}:\n"));
    for link in links.iter().take(MAX_LINKS) {
        let name = words::one_line(&link.name);
        let through = link.through().join("; ");
        let through = words::one_line(&through);
        let status = link.status;
        words::append(text, format_args!("- {name} ({status}): {through}\n"));
    }
    words::and_more(text, links.len().saturating_sub(MAX_LINKS), "other");
}

impl LinkView {
    fn through(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.is_host {
            all.push("host".to_owned());
        }
        if self.is_substitution {
            all.push("substitution".to_owned());
        }
        let (requirements, attributes) = (&self.requirements, &self.attributes);
        if !requirements.is_empty() {
            let names = words::names(requirements, MAX_ATTRIBUTES);
            let noun = if requirements.len() == 1 {
                "requirement"
            } else {
                "requirements"
            };
            all.push(format!("{noun} {names}"));
        }
        if !attributes.is_empty() {
            all.push(format!(
                "reads {}",
                words::names(attributes, MAX_ATTRIBUTES)
            ));
        }
        all
    }

    fn json(&self) -> Json {
        json!({
            "instance": self.name,
            "status": self.status.as_str(),
            "host": self.is_host,
            "standsIn": self.is_substitution,
            "requirements": self.requirements,
            "reads": self.attributes,
        })
    }
}

impl FailureLine {
    fn write(&self, text: &mut String, paint: Paint) {
        let operation = words::one_line(&self.operation);
        let mut facts = vec![format!("job {}", words::one_line(&self.job))];
        facts.extend(
            self.time
                .as_deref()
                .map(|time| words::recorded_time(time).into_owned()),
        );
        let (label, tone) = match (self.is_blocked, self.is_finding) {
            (true, _) => ("not run", Tone::Warning),
            (false, true) => ("found", Tone::Warning),
            (false, false) => ("failed", Tone::Bad),
        };
        let label = paint.tone(tone, label);
        let place = self.location.as_ref().map_or_else(String::new, |place| {
            let place = place.to_string();
            format!("   {}", paint.tone(Tone::Dim, &words::one_line(&place)))
        });
        let cause = match &self.cause {
            Some(cause) if self.is_blocked => {
                format!(" because `{}` failed", words::one_line(cause))
            }
            _ => String::new(),
        };
        let facts = facts.join(", ");
        words::append(
            text,
            format_args!("  {label}: {operation}{cause} ({facts}){place}\n"),
        );
        if cause.is_empty() {
            for message in &self.messages {
                words::append(text, format_args!("    {}\n", words::one_line(message)));
            }
        }
    }

    fn json(&self) -> Json {
        json!({
            "operation": self.operation,
            "time": self.time,
            "job": self.job,
            "messages": self.messages,
            "notRun": self.is_blocked,
            "found": self.is_finding,
            "cause": self.cause,
            "place": location_json(self.location.as_ref()),
        })
    }
}

impl LastChange {
    fn write(&self, text: &mut String, width: usize) {
        words::append(text, format_args!("\nLast change: {}", self.id));
        if let Some(operation) = &self.operation {
            words::append(text, format_args!(", {}", words::one_line(operation)));
        }
        if let Some(reason) = &self.reason {
            words::append(text, format_args!(" (reason: {})", words::one_line(reason)));
        }
        if let Some(time) = &self.time {
            words::append(text, format_args!(", {}", words::recorded_time(time)));
        }
        if let Some(job) = &self.job {
            words::append(text, format_args!(", job {job}"));
        }
        text.push('\n');
        for (name, value) in self.set.iter().take(MAX_SET_ATTRIBUTES) {
            let name = words::one_line(name);
            let room = width.saturating_sub(name.chars().count() + 10);
            let secret = value.as_str() == Some(REDACTED);
            let value = if secret {
                "a secret".to_owned()
            } else {
                inline_value_within(value, room)
            };
            words::append(text, format_args!("- set {name} to {value}\n"));
        }
        words::and_more(
            text,
            self.set.len().saturating_sub(MAX_SET_ATTRIBUTES),
            "other",
        );
        if let Some(why) = &self.unknown {
            let why = words::one_line(why);
            words::append(
                text,
                format_args!("- further details are not available: {why}\n"),
            );
        }
    }

    fn json(&self) -> Json {
        let set: Map<String, Json> = self
            .set
            .iter()
            .map(|(name, value)| (name.clone(), limited_json(value)))
            .collect();
        json!({
            "id": self.id,
            "time": self.time,
            "job": self.job,
            "operation": self.operation,
            "reason": self.reason,
            "set": set,
            "unknown": self.unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::paint::without_colours;
    use super::*;

    #[test]
    fn a_failure_is_shown_with_its_cause_and_place_and_colours_keep_the_words() {
        let place = |line| SourcePosition {
            path: "ensemble.yaml".into(),
            line,
            column: 9,
        };
        let mut view = ExplainView {
            name: "web".to_owned(),
            template: "web".to_owned(),
            type_name: "App".to_owned(),
            location: Some(place(12)),
            exists: true,
            local: Some(Status::Error),
            effective: Some(Status::Error),
            workflow: "deploy".to_owned(),
            failure: Some(FailureLine {
                operation: "configure".to_owned(),
                job: "A6BL7Jg00000".to_owned(),
                messages: vec!["exit code 3: connection refused".to_owned()],
                location: Some(place(17)),
                ..FailureLine::default()
            }),
            ..ExplainView::default()
        };
        let shown = |view: &ExplainView| {
            let plain = view.text(100, Paint::plain());
            let coloured = view.text(100, Paint::new(true));
            assert!(coloured.contains("\x1b["), "{coloured:?}");
            assert_eq!(without_colours(&coloured), plain);
            plain
        };
        let failed = shown(&view);
        assert!(
            failed.contains(
                "\n  failed: configure (job A6BL7Jg00000)   ensemble.yaml:17:9\n    exit code 3: connection refused\n"
            ),
            "{failed}"
        );
        let failure = view.failure.as_mut().unwrap();
        failure.is_blocked = true;
        failure.cause = Some("db".to_owned());
        let blocked = shown(&view);
        assert!(
            blocked.contains(
                "\n  not run: configure because `db` failed (job A6BL7Jg00000)   ensemble.yaml:17:9\n"
            ),
            "{blocked}"
        );
    }
}
