//! What a job did, as text and as JSON.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::{Align, SkippedView, Table, words};
use crate::name::{ChangeId, NodeState, Priority, Status};
use crate::value::Value;

/// How many characters of a task's output the text shows.
const OUTPUT_WIDTH: usize = 200;

/// A job that ended, ready to be shown.
#[derive(Debug, Clone)]
pub struct SummaryView {
    /// The job's id.
    pub id: ChangeId,
    /// The job's status.
    pub status: Status,
    /// How long it took; `None` where the start was given by the user.
    pub elapsed: Option<Duration>,
    /// Each task, in the order in which they ended.
    pub tasks: Vec<TaskRow>,
    /// The topology's outputs: a map.
    pub outputs: Value,
    /// Jobs that ran on other ensembles.
    pub external: Vec<(PathBuf, Self)>,
    /// What the job left alone.
    pub skipped: SkippedView,
    /// The expression evaluated after the job.
    pub query: Option<QueryView>,
}

/// An expression that the user asked for, and what it gave.
#[derive(Debug, Clone)]
pub struct QueryView {
    /// The expression.
    pub expression: String,
    /// Its value; null where it gave nothing.
    pub result: Value,
}

impl QueryView {
    /// The expression and what it gave, as text that ends its last line.
    pub fn text(&self) -> String {
        let Self { expression, result } = self;
        if result.is_null() {
            format!("Query: {expression}\nNo results found\n")
        } else {
            format!("Query: {expression}\nResult:\n{result}\n")
        }
    }

    /// Adds the expression and what it gave to an answer for machines.
    pub fn add_to(&self, answer: &mut Json) {
        answer["query"] = self.expression.clone().into();
        answer["result"] = json!(self.result);
    }
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    /// It ran and succeeded.
    Success,
    /// It ran and failed.
    Failed,
    /// It could not run, because something it needs was not there.
    Blocked,
    /// There was nothing to do for it.
    Skipped,
}

/// One task of a job.
#[derive(Debug, Clone)]
pub struct TaskRow {
    /// How it ended.
    pub end: TaskEnd,
    /// The task's own status; `None` if it was skipped.
    pub status: Option<Status>,
    /// The instance's name.
    pub target: String,
    /// The instance's name with those of the topologies around it.
    pub nested_name: String,
    /// The operation.
    pub operation: String,
    /// The template of the instance.
    pub template: String,
    /// The type of that template.
    pub type_name: String,
    /// The instance's own status when the task ended.
    pub target_status: Option<Status>,
    /// The instance's status as others see it when the job ended.
    pub final_status: Option<Status>,
    /// The instance's state when the task ended.
    pub target_state: Option<NodeState>,
    /// Whether it changed the instance.
    pub changed: bool,
    /// What implements the operation.
    pub configurator: String,
    /// How much others rely on it.
    pub priority: Priority,
    /// Why it ran.
    pub reason: String,
    /// What it gave; null for nothing.
    pub output: Value,
}

/// How many tasks ended in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskCounts {
    /// All of them.
    pub total: usize,
    /// Succeeded.
    pub ok: usize,
    /// Failed, or left their instance in error.
    pub error: usize,
    /// Nothing is known of their end.
    pub unknown: usize,
    /// Had nothing to do.
    pub skipped: usize,
    /// Could not run.
    pub blocked: usize,
    /// Ended in a status that has no column of its own, such as `degraded`.
    pub other: usize,
    /// Changed their instance.
    pub changed: usize,
}

impl TaskCounts {
    /// Counts tasks as upstream does: a task that left its instance in error counts as an error,
    /// and one without a status counts as skipped.
    pub fn of(tasks: &[TaskRow]) -> Self {
        let mut counts = Self {
            total: tasks.len(),
            changed: tasks.iter().filter(|task| task.changed).count(),
            ..Self::default()
        };
        for task in tasks {
            let count = match (task.end, task.status, task.target_status) {
                (TaskEnd::Blocked, ..) => &mut counts.blocked,
                (_, _, Some(Status::Error)) | (_, Some(Status::Error), _) => &mut counts.error,
                (_, None | Some(Status::Unknown), _) => &mut counts.skipped,
                (_, Some(Status::Ok), _) => &mut counts.ok,
                _ => &mut counts.other,
            };
            *count += 1;
        }
        counts
    }

    /// The counts as a phrase.
    pub fn text(&self) -> String {
        format!(
            "{} ({} changed, {} ok, {} failed, {} blocked, {} unknown, {} skipped)",
            words::count(self.total, "task"),
            self.changed,
            self.ok,
            self.error,
            self.blocked,
            self.unknown,
            self.skipped
        )
    }
}

impl SummaryView {
    /// How many tasks ended in which way.
    pub fn counts(&self) -> TaskCounts {
        TaskCounts::of(&self.tasks)
    }

    /// The summary as text of at most `width` columns where it is a table.
    pub fn text(&self, width: u16) -> String {
        let mut text = format!("Job {} completed", self.id);
        if self.tasks.is_empty() {
            let status = self.status;
            words::append(&mut text, format_args!(": {status}. No tasks ran.\n"));
        } else {
            if let Some(elapsed) = self.elapsed {
                words::append(&mut text, format_args!(" in {}", words::seconds(elapsed)));
            }
            let counts = self.counts().text();
            words::append(&mut text, format_args!(": {}. {counts}:\n\n", self.status));
            text.push_str(&self.table().render(width));
            self.write_task_outputs(&mut text);
        }
        text.push_str(&self.skipped.text());
        self.write_outputs(&mut text);
        if let Some(query) = &self.query {
            text.push('\n');
            text.push_str(&query.text());
        }
        text
    }

    fn table(&self) -> Table {
        let headings = [
            "Task",
            "Resource",
            "Operation",
            "Reason",
            "Status",
            "State",
            "Changed",
        ];
        let mut table = Table::new(&headings).align(0, Align::Right);
        for (place, task) in self.tasks.iter().enumerate() {
            let number = format!("{} ({})", place + 1, task.end.as_str());
            let status = task.status_text();
            table.row([
                number.as_str(),
                &task.nested_name,
                &task.operation,
                &task.reason,
                &status,
                task.target_state.map_or("", NodeState::as_str),
                if task.changed { "Yes" } else { "No" },
            ]);
        }
        table
    }

    fn write_task_outputs(&self, text: &mut String) {
        let mut first = true;
        for (place, task) in self.tasks.iter().enumerate() {
            if !task.output.is_truthy() {
                continue;
            }
            text.push_str(if first { "\n" } else { "" });
            first = false;
            let output = task.output.to_string();
            let output = words::one_line(&output);
            let output = words::shorten(&output, OUTPUT_WIDTH);
            words::append(text, format_args!("Task {} output: {output}\n", place + 1));
        }
    }

    fn write_outputs(&self, text: &mut String) {
        let outputs = self.outputs.as_map().filter(|outputs| !outputs.is_empty());
        if let Some(outputs) = outputs {
            text.push_str("\nOutputs:\n");
            for (name, value) in outputs {
                words::append(text, format_args!("    {name}: {value}\n"));
            }
        }
    }

    /// The summary as JSON.
    pub fn json(&self) -> Json {
        let counts = self.counts();
        let mut job = Map::new();
        job.insert("id".to_owned(), self.id.as_str().into());
        job.insert("status".to_owned(), self.status.as_str().into());
        job.insert("total".to_owned(), counts.total.into());
        job.insert("ok".to_owned(), counts.ok.into());
        job.insert("error".to_owned(), counts.error.into());
        job.insert("unknown".to_owned(), counts.unknown.into());
        job.insert("skipped".to_owned(), counts.skipped.into());
        if counts.blocked > 0 {
            job.insert("blocked".to_owned(), counts.blocked.into());
        }
        job.insert("changed".to_owned(), counts.changed.into());
        if let Some(elapsed) = self.elapsed {
            job.insert("timeElapsed".to_owned(), elapsed.as_secs_f64().into());
        }
        let mut summary = Map::new();
        summary.insert("job".to_owned(), Json::Object(job));
        summary.insert("outputs".to_owned(), json!(self.outputs));
        let tasks = self.tasks.iter().map(TaskRow::json).collect();
        summary.insert("tasks".to_owned(), tasks);
        if !self.external.is_empty() {
            let external = self.external.iter().map(|(path, job)| {
                let mut summary = job.json();
                summary["ensemble"] = path.display().to_string().into();
                summary
            });
            summary.insert("external_jobs".to_owned(), external.collect());
        }
        if !self.skipped.orphans.is_empty() {
            summary.insert("orphans".to_owned(), self.skipped.summary_json());
        }
        if let Some(query) = &self.query {
            summary.insert("query".to_owned(), query.expression.clone().into());
            summary.insert("result".to_owned(), json!(query.result));
        }
        Json::Object(summary)
    }
}

impl TaskEnd {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
        }
    }
}

impl TaskRow {
    /// The status in capitals where the instance still has it, else both statuses.
    fn status_text(&self) -> String {
        match (self.target_status, self.final_status) {
            (None, _) => String::new(),
            (Some(then), Some(now)) if then != now => format!("{then}/{now}"),
            (Some(then), _) => then.as_str().to_uppercase(),
        }
    }

    fn json(&self) -> Json {
        json!({
            "status": self.status.map(Status::as_str),
            "target": self.target,
            "operation": self.operation,
            "template": self.template,
            "type": self.type_name,
            "targetStatus": self.target_status.map(Status::as_str),
            "targetState": self.target_state.map(NodeState::as_str),
            "changed": self.changed,
            "configurator": self.configurator,
            "priority": self.priority.as_str(),
            "reason": self.reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(end: TaskEnd, target: &str, status: Option<Status>, target_status: Status) -> TaskRow {
        TaskRow {
            end,
            status,
            target: target.to_owned(),
            nested_name: target.to_owned(),
            operation: "configure".to_owned(),
            template: target.to_owned(),
            type_name: "tosca.nodes.Root".to_owned(),
            target_status: Some(target_status),
            final_status: Some(target_status),
            target_state: Some(NodeState::Configured),
            changed: end == TaskEnd::Success,
            configurator: "unfurl.configurators.shell.ShellConfigurator".to_owned(),
            priority: Priority::Required,
            reason: "add".to_owned(),
            output: Value::Null,
        }
    }

    fn sample() -> SummaryView {
        let mut tasks = vec![
            row(TaskEnd::Success, "db", Some(Status::Ok), Status::Pending),
            row(TaskEnd::Failed, "web", Some(Status::Error), Status::Error),
            row(
                TaskEnd::Blocked,
                "proxy",
                Some(Status::Error),
                Status::Pending,
            ),
            row(TaskEnd::Skipped, "dns", None, Status::Ok),
        ];
        tasks[0].final_status = Some(Status::Ok);
        tasks[1].output = Value::map([("stdout", Value::from("hi\n")), ("rc", 1.into())]);
        SummaryView {
            id: ChangeId::parse("A6BL7Jg00000").unwrap(),
            status: Status::Error,
            elapsed: Some(Duration::from_millis(108)),
            tasks,
            outputs: Value::map(
                [("url", "http://127.0.0.1/"), ("key", "hush")].map(|(k, v)| {
                    let value = Value::from(v);
                    (k, if k == "key" { value.sensitive() } else { value })
                }),
            ),
            external: Vec::new(),
            skipped: SkippedView::default(),
            query: None,
        }
    }

    #[test]
    fn the_text_has_a_header_a_table_and_the_outputs() {
        insta::assert_snapshot!(sample().text(100), @r"
        Job A6BL7Jg00000 completed in 0.108s: error. 4 tasks (1 changed, 1 ok, 1 failed, 1 blocked, 0 unknown, 1 skipped):

        ─────────────────────────────────────────────────────────────────────────────────
         Task          Resource   Operation   Reason   Status       State        Changed
        ─────────────────────────────────────────────────────────────────────────────────
         1 (success)   db         configure   add      pending/ok   configured   Yes
          2 (failed)   web        configure   add      ERROR        configured   No
         3 (blocked)   proxy      configure   add      PENDING      configured   No
         4 (skipped)   dns        configure   add      OK           configured   No
        ─────────────────────────────────────────────────────────────────────────────────

        Task 2 output: {'stdout': 'hi\n', 'rc': 1}

        Outputs:
            url: http://127.0.0.1/
            key: <<REDACTED>>
        ");
    }

    #[test]
    fn a_job_without_tasks_says_so() {
        let mut job = sample();
        job.tasks.clear();
        job.outputs = Value::Null;
        job.status = Status::Ok;
        job.query = Some(QueryView {
            expression: "::db".to_owned(),
            result: Value::Null,
        });
        insta::assert_snapshot!(job.text(100), @"
        Job A6BL7Jg00000 completed: ok. No tasks ran.

        Query: ::db
        No results found
        ");
    }

    #[test]
    fn the_json_is_that_of_upstream() {
        let mut job = sample();
        job.tasks.drain(..2);
        job.query = Some(QueryView {
            expression: "::db::port".to_owned(),
            result: 80.into(),
        });
        insta::assert_snapshot!(super::super::pretty(&job.json()), @r#"
        {
          "job": {
            "id": "A6BL7Jg00000",
            "status": "error",
            "total": 2,
            "ok": 0,
            "error": 0,
            "unknown": 0,
            "skipped": 1,
            "blocked": 1,
            "changed": 0,
            "timeElapsed": 0.108
          },
          "outputs": {
            "url": "http://127.0.0.1/",
            "key": "<<REDACTED>>"
          },
          "tasks": [
            {
              "status": "error",
              "target": "proxy",
              "operation": "configure",
              "template": "proxy",
              "type": "tosca.nodes.Root",
              "targetStatus": "pending",
              "targetState": "configured",
              "changed": false,
              "configurator": "unfurl.configurators.shell.ShellConfigurator",
              "priority": "required",
              "reason": "add"
            },
            {
              "status": null,
              "target": "dns",
              "operation": "configure",
              "template": "dns",
              "type": "tosca.nodes.Root",
              "targetStatus": "ok",
              "targetState": "configured",
              "changed": false,
              "configurator": "unfurl.configurators.shell.ShellConfigurator",
              "priority": "required",
              "reason": "add"
            }
          ],
          "query": "::db::port",
          "result": 80
        }
        "#);
    }
}
