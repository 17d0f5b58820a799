//! Jobs on record, as text and as JSON.

use serde_json::{Map, Value as Json, json};

use super::change::{inline_value_within, limited_json, sides};
use super::{Table, words};
use crate::ensemble::history::AttributeChange;
use crate::job::DifferenceSide;
use crate::value::{REDACTED, Value};

/// How many attributes of one task the text shows.
const MAX_CHANGES: usize = 20;

/// A job on record.
#[derive(Debug, Clone, Default)]
pub struct JobLine {
    /// Its id.
    pub id: String,
    /// When it started, as records write it.
    pub start: Option<String>,
    /// When it ended.
    pub end: Option<String>,
    /// Its workflow.
    pub workflow: Option<String>,
    /// How it ended.
    pub status: Option<String>,
    /// How many tasks ended in which way.
    pub summary: Option<String>,
    /// The options that the user gave.
    pub options: Value,
    /// The job before it.
    pub previous: Option<String>,
    /// The commit that it started from.
    pub commit: Option<String>,
    /// The file of its record.
    pub file: Option<String>,
}

/// A task on record.
#[derive(Debug, Clone, Default)]
pub struct TaskLine {
    /// Its id.
    pub id: String,
    /// The key of what it was applied to.
    pub target: String,
    /// The operation.
    pub operation: String,
    /// Why it ran.
    pub reason: Option<String>,
    /// How it ended: `ok`, `error` or `skipped`.
    pub status: Option<String>,
    /// The status of its target after it.
    pub target_status: Option<String>,
    /// Whether it changed its target, where that is told.
    pub changed: Option<bool>,
    /// When it started and ended, as records write it.
    pub times: (Option<String>, Option<String>),
    /// The attributes that it set.
    pub changes: Vec<AttributeChange>,
    /// What went wrong, in words.
    pub messages: Vec<String>,
    /// Its inputs, where the task alone is shown.
    pub inputs: Value,
    /// What it read, where the task alone is shown.
    pub read: Vec<(String, Value)>,
}

/// Jobs on record, newest first.
#[derive(Debug, Clone, Default)]
pub struct JobsView {
    /// Those that are listed.
    pub jobs: Vec<JobLine>,
    /// How many there are in all.
    pub total: usize,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// One job on record.
#[derive(Debug, Clone, Default)]
pub struct JobView {
    /// The job.
    pub job: JobLine,
    /// Its tasks.
    pub tasks: Vec<TaskLine>,
    /// How many there are in all.
    pub total: usize,
    /// Whether one task alone is shown.
    pub single: bool,
    /// What could not be read.
    pub problems: Vec<String>,
}

impl JobsView {
    /// The jobs as a table of at most `width` columns.
    pub fn text(&self, width: u16) -> String {
        if self.jobs.is_empty() {
            return "No job is on record.\n".to_owned();
        }
        let headings = ["Job", "Started", "Workflow", "Status", "Tasks", "Options"];
        let mut table = Table::new(&headings);
        for job in &self.jobs {
            let summary = job.summary.as_deref().unwrap_or("unknown");
            table.row([
                job.id.as_str(),
                &job.started(),
                job.workflow.as_deref().unwrap_or("unknown"),
                job.status.as_deref().unwrap_or("unknown"),
                &counts(summary),
                &job.options(),
            ]);
        }
        let mut text = table.render(width);
        if self.total > self.jobs.len() {
            let more = words::count(self.total - self.jobs.len(), "earlier job");
            let line = format_args!("and {more}; `--limit 0` shows all\n");
            words::append(&mut text, line);
        }
        text
    }

    /// The jobs for machines.
    pub fn json(&self) -> Json {
        let jobs: Vec<Json> = self.jobs.iter().map(JobLine::json).collect();
        json!({"jobs": jobs, "total": self.total, "problems": self.problems})
    }
}

impl JobView {
    /// The job as text of at most `width` columns where that can be.
    pub fn text(&self, width: u16) -> String {
        let mut text = String::new();
        self.write_job(&mut text);
        if self.tasks.is_empty() {
            text.push_str("\nNo task of it is on record.\n");
            return text;
        }
        text.push('\n');
        text.push_str(&self.table().render(width));
        if self.total > self.tasks.len() {
            let more = words::count(self.total - self.tasks.len(), "other task");
            words::append(&mut text, format_args!("and {more}\n"));
        }
        for task in &self.tasks {
            task.write(&mut text, usize::from(width), self.single);
        }
        text
    }

    fn write_job(&self, text: &mut String) {
        let job = &self.job;
        let known = [
            job.workflow.clone(),
            job.start.as_ref().map(|_| job.started()),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        let status = job.status.as_deref().unwrap_or("unknown");
        words::append(text, format_args!("Job {}", job.id));
        for fact in known {
            words::append(text, format_args!(", {}", words::one_line(&fact)));
        }
        words::append(text, format_args!(": {}\n", words::one_line(status)));
        let facts = [
            ("tasks", job.summary.clone()),
            ("options", Some(job.options()).filter(|it| !it.is_empty())),
            ("job before", job.previous.clone()),
            ("commit", job.commit.clone()),
            ("record", job.file.clone()),
        ];
        for (label, fact) in facts {
            if let Some(fact) = fact {
                words::fact(text, label, &fact);
            }
        }
    }

    fn table(&self) -> Table {
        let headings = [
            "Task",
            "Target",
            "Operation",
            "Reason",
            "Status",
            "Instance",
            "Changed",
            "Ended",
        ];
        let mut table = Table::new(&headings);
        for task in &self.tasks {
            let ended = task.times.1.as_deref().map(words::recorded_time);
            table.row([
                task.id.as_str(),
                task.target.strip_prefix("::").unwrap_or(&task.target),
                &task.operation,
                task.reason.as_deref().unwrap_or(""),
                task.status.as_deref().unwrap_or("unknown"),
                task.target_status.as_deref().unwrap_or(""),
                match task.changed {
                    Some(true) => "Yes",
                    Some(false) => "No",
                    None => "",
                },
                ended.as_deref().unwrap_or(""),
            ]);
        }
        table
    }

    /// The job for machines.
    pub fn json(&self) -> Json {
        let tasks: Vec<Json> = self
            .tasks
            .iter()
            .map(|task| task.json(self.single))
            .collect();
        json!({
            "job": self.job.json(),
            "tasks": tasks,
            "total": self.total,
            "problems": self.problems,
        })
    }
}

impl JobLine {
    fn started(&self) -> String {
        let start = self.start.as_deref().map(words::recorded_time);
        start.map_or_else(|| "unknown".to_owned(), std::borrow::Cow::into_owned)
    }

    fn options(&self) -> String {
        let options = self.options.as_map().into_iter().flatten();
        let options: Vec<String> = options
            .map(|(name, value)| match value {
                Value::Bool(true) => name.to_string(),
                value => format!("{name} = {value}"),
            })
            .collect();
        options.join(", ")
    }

    fn json(&self) -> Json {
        json!({
            "id": self.id,
            "startTime": self.start,
            "endTime": self.end,
            "workflow": self.workflow,
            "status": self.status,
            "summary": self.summary,
            "options": self.options.as_map().map(|_| &self.options),
            "previousId": self.previous,
            "startCommit": self.commit,
            "record": self.file,
        })
    }
}

impl TaskLine {
    fn write(&self, text: &mut String, width: usize, single: bool) {
        let details = single && (self.inputs.is_truthy() || !self.read.is_empty());
        if self.changes.is_empty() && self.messages.is_empty() && !details {
            return;
        }
        let target = self.target.strip_prefix("::").unwrap_or(&self.target);
        let (id, target) = (&self.id, words::one_line(target));
        let operation = words::one_line(&self.operation);
        words::append(text, format_args!("\n{id}: {operation} of {target}\n"));
        for message in &self.messages {
            let message = words::one_line(message);
            words::append(text, format_args!("- error: {message}\n"));
        }
        let limit = if single { usize::MAX } else { MAX_CHANGES };
        for change in self.changes.iter().take(limit) {
            self.write_change(text, width, change);
        }
        words::and_more(
            text,
            self.changes.len().saturating_sub(limit),
            "other change",
        );
        if single {
            let inputs = self.inputs.as_map().into_iter().flatten();
            for (name, value) in inputs {
                write_value(text, width, "input", name, value);
            }
            for (key, value) in &self.read {
                write_value(text, width, "read", key, value);
            }
        }
    }

    fn write_change(&self, text: &mut String, width: usize, change: &AttributeChange) {
        let AttributeChange {
            instance_key: of,
            name,
            old,
            new,
        } = change;
        let other = (*of != self.target).then(|| format!(" of {}", of.trim_start_matches(':')));
        let what = match name.as_str() {
            ".status" => "status".to_owned(),
            ".added" => "added".to_owned(),
            name => format!("attribute {name}"),
        };
        let head = format!("- {what}{}: ", other.unwrap_or_default());
        let head = words::one_line(&head);
        let room = width.saturating_sub(head.chars().count());
        let secret = new.as_str().is_some_and(|text| text.contains(REDACTED));
        let sides = match old {
            _ if secret => "changed (secret)".to_owned(),
            Some(old) => sides(
                &DifferenceSide::Value(old.clone()),
                &DifferenceSide::Value(new.clone()),
                room,
            ),
            None => inline_value_within(new, room),
        };
        words::append(text, format_args!("{head}{sides}\n"));
    }

    fn json(&self, single: bool) -> Json {
        let changes: Vec<Json> = self
            .changes
            .iter()
            .map(
                |AttributeChange {
                     instance_key: of,
                     name,
                     old,
                     new,
                 }| {
                    let mut change = Map::new();
                    change.insert("of".to_owned(), of.as_str().into());
                    change.insert("name".to_owned(), name.as_str().into());
                    if let Some(old) = old {
                        change.insert("old".to_owned(), limited_json(old));
                    }
                    change.insert("new".to_owned(), limited_json(new));
                    Json::Object(change)
                },
            )
            .collect();
        let mut task = json!({
            "id": self.id,
            "target": self.target,
            "operation": self.operation,
            "reason": self.reason,
            "status": self.status,
            "targetStatus": self.target_status,
            "changed": self.changed,
            "startTime": self.times.0,
            "endTime": self.times.1,
            "changes": changes,
            "messages": self.messages,
        });
        if single {
            let read = self.read.iter();
            let read: Map<String, Json> = read
                .map(|(key, value)| (key.clone(), limited_json(value)))
                .collect();
            task["inputs"] = limited_json(&self.inputs);
            task["read"] = Json::Object(read);
        }
        task
    }
}

fn write_value(text: &mut String, width: usize, kind: &str, name: &str, value: &Value) {
    let head = format!("- {kind} {}: ", words::one_line(name));
    let room = width.saturating_sub(head.chars().count());
    words::append(
        text,
        format_args!("{head}{}\n", inline_value_within(value, room)),
    );
}

/// The counts of a summary without those that are zero: `2 tasks (1 changed, 2 ok)`.
fn counts(summary: &str) -> String {
    let Some((total, rest)) = summary.split_once(" (") else {
        return summary.to_owned();
    };
    let parts = rest.trim_end_matches(')').split(", ");
    let told: Vec<&str> = parts.filter(|part| !part.starts_with("0 ")).collect();
    let total = if total == "1 tasks" { "1 task" } else { total };
    if told.is_empty() {
        total.to_owned()
    } else {
        format!("{total}: {}", told.join(", "))
    }
}
