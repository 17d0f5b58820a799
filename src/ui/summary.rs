//! Renders the summary of a finished job as text and as JSON.
//!
//! `cli::job_views` fills a [`SummaryView`] from the report of the job. The JSON has Unfurl's
//! format.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::job_result::{JobEnd, JobResult};
use super::paint::{Paint, Tone};
use super::{Align, SkippedView, Table, words};
use crate::name::{ChangeId, NodeState, Priority, Status};
use crate::value::Value;

/// The maximum length of a task's output in the text, in characters.
const OUTPUT_WIDTH: usize = 200;

/// A finished job prepared for output.
#[derive(Debug, Clone)]
pub struct SummaryView {
    pub id: ChangeId,
    pub status: Status,
    /// The duration of the job. `None` if the user set the start time.
    pub elapsed: Option<Duration>,
    /// The tasks in the order in which they ended.
    pub tasks: Vec<TaskRow>,
    /// The outputs of the topology, as a map.
    pub outputs: Value,
    /// The summaries of jobs on other ensembles, by path.
    pub external: Vec<(PathBuf, Self)>,
    /// The instances that the job left alone.
    pub skipped: SkippedView,
    /// The expression evaluated after the job, with its result.
    pub query: Option<QueryView>,
    /// The result for people.
    pub result: JobResult,
}

/// The expression of `--query` and its result.
#[derive(Debug, Clone)]
pub struct QueryView {
    pub expression: String,
    /// The value of the expression; null without a result.
    pub result: Value,
}

impl QueryView {
    /// Renders the expression and its result for people.
    pub fn text(&self) -> String {
        let Self { expression, result } = self;
        if result.is_null() {
            return format!("Query: {expression}\nNo results found\n");
        }
        let result = output_text(result, Paint::plain());
        format!("Query: {expression}\nResult:\n{result}\n")
    }

    /// Renders the expression and its result as Unfurl does.
    pub fn upstream_text(&self) -> String {
        let Self { expression, result } = self;
        if result.is_null() {
            format!("Query: {expression}\nNo results found\n")
        } else {
            format!("Query: {expression}\nResult:\n{result}\n")
        }
    }

    /// Adds the expression and its result to a JSON object.
    pub fn add_to(&self, answer: &mut Json) {
        answer["query"] = self.expression.clone().into();
        answer["result"] = json!(self.result);
    }
}

/// The way in which a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    Success,
    Failed,
    /// The task could not run, because something that it depends on was missing.
    Blocked,
    /// The task had nothing to do.
    Skipped,
}

/// A task of a job: a row of the summary table.
#[derive(Debug, Clone)]
pub struct TaskRow {
    pub end: TaskEnd,
    /// The status of the task itself. `None` if the task was skipped.
    pub status: Option<Status>,
    pub target: String,
    /// The name of the instance with those of the enclosing topologies.
    pub nested_name: String,
    pub operation: String,
    /// The name of the instance's node template.
    pub template: String,
    pub type_name: String,
    /// The status of the instance itself when the task ended.
    pub target_status: Option<Status>,
    /// The effective status of the instance when the job ended.
    pub final_status: Option<Status>,
    /// The state of the instance when the task ended.
    pub target_state: Option<NodeState>,
    /// Whether the task changed the instance.
    pub changed: bool,
    /// The class of the configurator that implements the operation.
    pub configurator: String,
    /// The priority of the instance for others.
    pub priority: Priority,
    /// The reason for which the task ran.
    pub reason: String,
    /// The output of the task; null without output.
    pub output: Value,
}

/// The number of tasks by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskCounts {
    pub total: usize,
    pub ok: usize,
    /// Tasks that failed or left their instance in error.
    pub error: usize,
    pub unknown: usize,
    /// Tasks that had nothing to do.
    pub skipped: usize,
    /// Tasks that could not run, because something that they depend on was missing.
    pub blocked: usize,
    /// Tasks with a status that has no column, such as `degraded`.
    pub other: usize,
    pub changed: usize,
}

impl TaskCounts {
    /// Counts tasks in the same way as Unfurl.
    ///
    /// A task that left its instance in error counts as an error, and a task without a status
    /// counts as skipped.
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
}

impl SummaryView {
    /// Returns the number of tasks by outcome.
    pub fn counts(&self) -> TaskCounts {
        TaskCounts::of(&self.tasks)
    }

    /// Renders the summary as text: a line per instance, failures, outputs, and the result as the last line.
    ///
    /// `verbose` adds a table of all tasks with their results, of at most `width` columns.
    pub fn text(&self, width: u16, paint: Paint, verbose: bool) -> String {
        let mut text = String::new();
        if verbose && !self.tasks.is_empty() {
            text.push_str(&self.table().render(width));
            self.write_task_outputs(&mut text);
            text.push('\n');
        }
        text.push_str(&self.result.text(self.id, paint));
        text.push_str(&self.skipped.text());
        self.write_outputs(&mut text, paint);
        if let Some(query) = &self.query {
            text.push('\n');
            text.push_str(&query.text());
        }
        let line = self.result.line(self.id, self.elapsed, paint);
        match text.trim_matches('\n') {
            "" => line,
            text => format!("{text}\n\n{line}"),
        }
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

    /// Writes the outputs, which are those of things that exist: not after a teardown or a dry run.
    fn write_outputs(&self, text: &mut String, paint: Paint) {
        let outputs = self.outputs.as_map().filter(|outputs| !outputs.is_empty());
        let is_dry = matches!(self.result.end, JobEnd::DryRun | JobEnd::DryRunFailed);
        let Some(outputs) = outputs.filter(|_| !is_dry && self.result.workflow != "undeploy")
        else {
            return;
        };
        words::append(
            text,
            format_args!("\n{}\n", paint.tone(Tone::Strong, "Outputs:")),
        );
        for (name, value) in outputs {
            let name = words::one_line(name);
            let value = output_text(value, paint).replace('\n', "\n      ");
            words::append(text, format_args!("  {name}: {value}\n"));
        }
    }

    /// Shows the outputs with these names although they are secrets.
    #[must_use]
    pub fn reveal(mut self, names: &[String]) -> Self {
        if let Value::Map(outputs) = &mut self.outputs {
            let outputs = Arc::make_mut(outputs);
            for name in names {
                if let Some(output) = outputs.get_mut(name.as_str()) {
                    *output = output.revealed();
                }
            }
        }
        self
    }

    /// Returns the summary as JSON in Unfurl's format.
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

/// Returns the value of an output: texts as they are, lists and maps as JSON.
fn output_text(value: &Value, paint: Paint) -> String {
    if value.is_null() {
        return paint.tone(Tone::Dim, "(no value)");
    }
    match value.redacted() {
        value @ (Value::List(_) | Value::Map(_) | Value::Bool(_)) => json!(value).to_string(),
        value => value.to_string(),
    }
}

impl TaskEnd {
    /// Returns the word for the outcome in texts.
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
    /// Returns the status after the task in capitals if it still holds, else the statuses after the
    /// task and after the job.
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
pub(super) mod tests {
    use super::super::paint::without_colours;
    use super::*;
    use crate::ui::{InstanceOutcome, InstanceRow};

    /// Renders a summary without colours, and checks that colours do not change the words.
    fn shown(job: &SummaryView, verbose: bool) -> String {
        let plain = job.text(100, Paint::plain(), verbose);
        let coloured = job.text(100, Paint::new(true), verbose);
        assert!(coloured.contains("\x1b["), "{coloured:?}");
        assert_eq!(without_colours(&coloured), plain);
        plain
    }

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

    pub(in super::super) fn sample() -> SummaryView {
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
            result: JobResult::default(),
        }
    }

    #[test]
    fn the_result_is_the_last_line_after_outputs_and_query() {
        let mut job = sample();
        job.result.workflow = "deploy".to_owned();
        job.query = Some(QueryView {
            expression: "::db".to_owned(),
            result: Value::Null,
        });
        if let Value::Map(outputs) = &mut job.outputs {
            let outputs = Arc::make_mut(outputs);
            outputs.insert("list".into(), Value::list([Value::from("a"), true.into()]));
            outputs.insert("lines".into(), Value::from("a\nb"));
            outputs.insert("later".into(), Value::Null);
        }
        insta::assert_snapshot!(shown(&job, false), @r#"
        Outputs:
          url: http://127.0.0.1/
          key: <<REDACTED>>
          list: ["a",true]
          lines: a
              b
          later: (no value)

        Query: ::db
        No results found

        Nothing to do.
        "#);
        job.result.workflow = "undeploy".to_owned();
        job.query = None;
        assert_eq!(shown(&job, false), "Nothing to do.\n");
    }

    #[test]
    fn one_empty_line_stands_before_the_result_of_many_instances() {
        let mut job = sample();
        job.outputs = Value::Null;
        job.result.workflow = "deploy".to_owned();
        let row = |number| InstanceRow {
            name: format!("web{number}"),
            outcome: InstanceOutcome::Done(crate::job::InstanceAction::Create),
            operations: 1,
            elapsed: None,
            status: Some(Status::Ok),
            cause: None,
        };
        job.result.instances = (0..30).map(row).collect();
        let text = shown(&job, false);
        let end =
            "and 10 more; `unfurl history A6BL7Jg00000` lists all\n\nDeployed: 30 created in ";
        assert!(text.contains(end), "{text}");
    }

    #[test]
    fn a_verbose_summary_lists_all_tasks() {
        let mut job = sample();
        job.outputs = Value::Null;
        insta::assert_snapshot!(shown(&job, true), @r"
        ─────────────────────────────────────────────────────────────────────────────────
         Task          Resource   Operation   Reason   Status       State        Changed
        ─────────────────────────────────────────────────────────────────────────────────
         1 (success)   db         configure   add      pending/ok   configured   Yes
          2 (failed)   web        configure   add      ERROR        configured   No
         3 (blocked)   proxy      configure   add      PENDING      configured   No
         4 (skipped)   dns        configure   add      OK           configured   No
        ─────────────────────────────────────────────────────────────────────────────────

        Task 2 output: {'stdout': 'hi\n', 'rc': 1}

        Nothing to do.
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
