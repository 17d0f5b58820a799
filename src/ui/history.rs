//! Renders recorded jobs and their tasks as text and as JSON.
//!
//! [`JobsView`] is the list of jobs and [`JobView`] a single job. `cli::commands::history` fills
//! them from the records.

use serde_json::{Map, Value as Json, json};

use super::change::{inline_value_within, limited_json, location_json, sides};
use super::{Table, TableLayout, words};
use crate::diagnostic::SourcePosition;
use crate::ensemble::history::AttributeChange;
use crate::job::DifferenceSide;
use crate::value::{REDACTED, Value};

/// The maximum number of attributes that the text shows per task.
const MAX_CHANGES: usize = 20;

/// A recorded job, as one line of the history.
#[derive(Debug, Clone, Default)]
pub struct JobLine {
    pub id: String,
    /// The start time in the format of records.
    pub start: Option<String>,
    pub end: Option<String>,
    pub workflow: Option<String>,
    /// The final status, such as `ok` or `error`.
    pub status: Option<String>,
    /// The recorded summary, which counts the tasks by outcome.
    pub summary: Option<String>,
    /// The options that the user set.
    pub options: Value,
    pub previous: Option<String>,
    /// The git commit that the job started from.
    pub commit: Option<String>,
    /// The path of the job's record file.
    pub file: Option<String>,
}

/// A recorded task of a job.
#[derive(Debug, Clone, Default)]
pub struct TaskLine {
    pub id: String,
    /// The key of the instance that the task was applied to.
    pub target: String,
    pub operation: String,
    /// The reason for which the task ran.
    pub reason: Option<String>,
    /// The result of the task: `ok`, `error` or `skipped`.
    pub status: Option<String>,
    /// The status of the instance after the task.
    pub target_status: Option<String>,
    /// Whether the task changed the instance. None if this is not recorded.
    pub changed: Option<bool>,
    /// The start and end times in the format of records.
    pub times: (Option<String>, Option<String>),
    /// The attributes that the task set.
    pub changes: Vec<AttributeChange>,
    /// The error messages of the task.
    pub messages: Vec<String>,
    /// The reason for which the task never ran.
    pub not_run: Option<String>,
    /// The position of the failed operation in its source file, as the model is now.
    pub place: Option<SourcePosition>,
    /// The inputs of the task; only set if a single task is shown.
    pub inputs: Value,
    /// The values that the task read; only set if a single task is shown.
    pub read: Vec<(String, Value)>,
}

/// A list of recorded jobs, newest first.
#[derive(Debug, Clone, Default)]
pub struct JobsView {
    pub jobs: Vec<JobLine>,
    /// The number of recorded jobs, including those that are not listed.
    pub total: usize,
    /// Messages about records that could not be read.
    pub problems: Vec<String>,
}

/// A recorded job with its tasks.
#[derive(Debug, Clone, Default)]
pub struct JobView {
    pub job: JobLine,
    pub tasks: Vec<TaskLine>,
    /// The number of tasks, including those that are not shown.
    pub total: usize,
    /// Whether only a single task is shown, with all details.
    pub single: bool,
    /// Messages about records that could not be read.
    pub problems: Vec<String>,
}

impl JobsView {
    /// Renders the jobs as a table.
    pub fn text(&self, layout: impl Into<TableLayout>) -> String {
        let layout = layout.into();
        if self.jobs.is_empty() {
            return "No jobs are recorded.\n".to_owned();
        }
        let headings = ["Job", "Started", "Workflow", "Status", "Tasks", "Options"];
        let mut table = Table::new(&headings)
            .prose(4)
            .prose(5)
            .dispensable(&[5, 4, 2]);
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
        let mut text = table.render(layout);
        // Programs expect rows only.
        if let Some(more) = self.more().filter(|_| !layout.for_programs) {
            text.push_str(&more);
        }
        text
    }

    /// Returns a line about the jobs that are not listed.
    pub fn more(&self) -> Option<String> {
        let more = self.total.checked_sub(self.jobs.len())?;
        let more = (more > 0).then(|| words::count(more, "earlier job"))?;
        Some(format!("and {more}; `--limit 0` shows all\n"))
    }

    /// Returns the list of jobs as JSON.
    pub fn json(&self) -> Json {
        let jobs: Vec<Json> = self.jobs.iter().map(JobLine::json).collect();
        json!({"jobs": jobs, "total": self.total, "problems": self.problems})
    }
}

impl JobView {
    /// Renders the job as text, if possible not wider than the terminal.
    pub fn text(&self, layout: impl Into<TableLayout>) -> String {
        let layout = layout.into();
        let mut text = String::new();
        self.write_job(&mut text);
        if self.tasks.is_empty() {
            text.push_str("\nNo tasks of this job are recorded.\n");
            return text;
        }
        text.push('\n');
        text.push_str(&self.table().render(layout));
        if self.total > self.tasks.len() {
            let more = words::count(self.total - self.tasks.len(), "other task");
            words::append(&mut text, format_args!("and {more}\n"));
        }
        for task in &self.tasks {
            task.write(&mut text, usize::from(layout.width), self.single);
        }
        text
    }

    fn write_job(&self, text: &mut String) {
        let job = &self.job;
        text.push_str(&job.result());
        text.push('\n');
        let facts = [
            ("tasks", job.summary.as_deref().map(agreeing)),
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
        let mut table = Table::new(&headings).dispensable(&[3, 7, 5, 6]);
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

    /// Returns the job and its tasks as JSON.
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

/// Corrects the number of the noun in a recorded summary, which keeps the form of Unfurl's records.
fn agreeing(summary: &str) -> String {
    match summary.strip_prefix("1 tasks") {
        Some(rest) => format!("1 task{rest}"),
        None => summary.to_owned(),
    }
}

impl JobLine {
    /// Returns the job with its start and its status, such as `Job A6BL7ntS0000, deploy, …: ok`.
    pub fn result(&self) -> String {
        let known = [
            self.workflow.clone(),
            self.start.as_ref().map(|_| self.started()),
        ];
        let status = self.status.as_deref().unwrap_or("unknown");
        let mut text = format!("Job {}", self.id);
        for fact in known.into_iter().flatten() {
            words::append(&mut text, format_args!(", {}", words::one_line(&fact)));
        }
        words::append(&mut text, format_args!(": {}", words::one_line(status)));
        text
    }

    /// Returns the job with its status and the counts of its tasks, as one line.
    pub fn line(&self) -> String {
        let counts = self.summary.as_deref().map(counts);
        let counts = counts.map(|counts| format!("; {}", words::one_line(&counts)));
        format!("{}{}\n", self.result(), counts.unwrap_or_default())
    }

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
        let has_failed = !self.messages.is_empty() || self.not_run.is_some();
        if self.changes.is_empty() && !has_failed && !details {
            return;
        }
        let target = self.target.strip_prefix("::").unwrap_or(&self.target);
        let (id, target) = (&self.id, words::one_line(target));
        let operation = words::one_line(&self.operation);
        let place = self.place.as_ref().map_or_else(String::new, |place| {
            format!("   {}", words::one_line(&place.to_string()))
        });
        words::append(
            text,
            format_args!("\n{id}: {operation} of {target}{place}\n"),
        );
        if let Some(reason) = &self.not_run {
            words::append(
                text,
                format_args!("- not run: {}\n", words::one_line(reason)),
            );
        }
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
        if let Some(reason) = &self.not_run {
            task["notRun"] = reason.as_str().into();
        }
        if let Some(place) = &self.place {
            task["place"] = location_json(Some(place));
        }
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

/// Returns the counts of a summary without zeros, such as `2 tasks: 1 changed, 2 ok`.
fn counts(summary: &str) -> String {
    let Some((total, rest)) = summary.split_once(" (") else {
        return summary.to_owned();
    };
    let parts = rest.trim_end_matches(')').split(", ");
    let counted: Vec<&str> = parts.filter(|part| !part.starts_with("0 ")).collect();
    let total = if total == "1 tasks" { "1 task" } else { total };
    if counted.is_empty() {
        total.to_owned()
    } else {
        format!("{total}: {}", counted.join(", "))
    }
}
