//! The command `history`: lists recorded jobs, or shows the tasks of one job.

use clap::{Args, Subcommand};

use crate::cli::args::format::OutputFormat;
use crate::ops::Failure;

use crate::cli::args::replay::ReplayArgs;
use crate::cli::output::{Context, relative};
use crate::cli::request::session::{session_options, warn_interrupted_job};
use crate::diagnostic::SourceLocator;
use crate::ensemble::history::{History, JobEntry, Selection, TaskEntry};
use crate::ensemble::not_run_reason;
use crate::job::LogLevel;
use crate::ops::{SessionOptions, history};
use crate::ui::{JobLine, JobView, JobsView, TaskLine};
use crate::value::Value;

/// The number of jobs that are listed without `--limit`.
const DEFAULT_LIMIT: usize = 20;

/// List the recorded jobs, or show the tasks of one job and their changes
///
/// Dry runs and jobs that did nothing are not recorded.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct HistoryArgs {
    #[command(subcommand)]
    pub(in crate::cli) action: Option<HistoryAction>,
    /// A job to show: its id, the beginning of its id, or the id of a task
    job: Option<String>,
    /// The ensemble: a file, a folder, an alias or a name of the project
    #[arg(
        long,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    ensemble: String,
    /// Show only jobs and tasks of this instance
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Number of jobs to list, or of tasks of a job to show; 0 for all [default: 20 jobs, all tasks]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    use_environment: Option<String>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: OutputFormat,
}

/// Further actions on recorded jobs.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum HistoryAction {
    Replay(ReplayArgs),
}

fn options(args: &HistoryArgs, cx: &Context) -> SessionOptions {
    let environment = args.use_environment.as_deref();
    session_options(&args.ensemble, environment, cx)
}

fn selection(args: &HistoryArgs) -> Selection {
    Selection {
        job: args.job.clone(),
        instance: args.instance.clone(),
        limit: match (args.limit, &args.job) {
            (Some(0), _) => None,
            (None, None) => Some(DEFAULT_LIMIT),
            (limit, _) => limit,
        },
    }
}

/// Shows recorded jobs or one job, and returns the exit code.
pub(in crate::cli) fn history(args: &HistoryArgs, cx: &Context) -> Result<u8, Failure> {
    let options = options(args, cx);
    warn_interrupted_job(&options, &cx.output);
    let history = history::history(&options, &selection(args))?;
    let (json, text, problems) = match history {
        History::Jobs {
            jobs,
            total,
            problems,
        } => {
            let jobs = jobs.iter().map(job_line).collect();
            let view = JobsView {
                jobs,
                total,
                problems,
            };
            let layout = cx.output.table_layout();
            let is_text = args.output == OutputFormat::Text;
            if let Some(more) = view.more().filter(|_| is_text && layout.for_programs) {
                cx.output.print_stderr(&more);
            }
            (view.json(), view.text(layout), view.problems)
        }
        History::Job {
            job,
            tasks,
            total,
            single,
            problems,
        } => {
            let mut tasks: Vec<TaskLine> = tasks
                .into_iter()
                .map(|task| task_line(task, single))
                .collect();
            add_places(&mut tasks, &options);
            let view = JobView {
                job: job_line(&job),
                tasks,
                total,
                single,
                problems,
            };
            (
                view.json(),
                view.text(cx.output.table_layout()),
                view.problems,
            )
        }
    };
    for problem in &problems {
        cx.output.message(LogLevel::Warning, problem);
    }
    cx.output.result(args.output, || json, || text);
    Ok(0)
}

/// Adds the positions of failed operations, where the model still has them.
fn add_places(tasks: &mut [TaskLine], options: &SessionOptions) {
    let failed = tasks.iter_mut().filter(|task| !task.messages.is_empty());
    let mut failed: Vec<_> = failed
        .map(|task| ((task.target.clone(), task.operation.clone()), task))
        .collect();
    if failed.is_empty() {
        return;
    }
    let operations: Vec<_> = failed.iter().map(|(key, _)| key.clone()).collect();
    let found = history::operation_places(options, &operations);
    let sources = relative(&found.sources);
    let places = SourceLocator::new(&sources);
    for ((instance, operation), task) in &mut failed {
        task.place = places.locate(found.span_of(instance, operation));
    }
}

pub(super) fn job_line(job: &JobEntry) -> JobLine {
    JobLine {
        id: job.id.to_string(),
        start: job.start.clone(),
        end: text(&job.record, "endTime"),
        workflow: text(&job.record, "workflow"),
        status: job.status.clone(),
        summary: job.summary.clone(),
        options: job
            .record
            .get("options")
            .cloned()
            .unwrap_or_default()
            .redacted(),
        previous: text(&job.record, "previousId"),
        commit: text(&job.record, "startCommit"),
        file: job.file.clone(),
    }
}

fn task_line(task: TaskEntry, single: bool) -> TaskLine {
    let record = &task.record;
    let ready = record
        .get("readyState")
        .and_then(|ready| ready.get("local"));
    let skipped = record.get("result").and_then(Value::as_str) == Some("skipped");
    let status = ready.and_then(Value::as_str).map(str::to_owned);
    let operation = record
        .get("implementation")
        .and_then(|it| it.get("operation"));
    let messages = record.get("messages").and_then(Value::as_list);
    let read = record.get("dependencies").and_then(Value::as_list);
    let read = read.into_iter().flatten().filter(|_| single);
    let read = read.filter(|it| it.get("writeOnly").is_none());
    TaskLine {
        id: text(record, "changeId").unwrap_or_default(),
        target: text(record, "target").unwrap_or_default(),
        operation: operation.map(ToString::to_string).unwrap_or_default(),
        reason: text(record, "reason"),
        not_run: not_run_reason(record),
        place: None,
        status: status.or_else(|| skipped.then(|| "skipped".to_owned())),
        target_status: target_status(record),
        changed: record.get("changed").map(Value::is_truthy),
        times: (text(record, "startTime"), text(record, "endTime")),
        messages: messages
            .into_iter()
            .flatten()
            .map(|message| message.redacted().to_string())
            .collect(),
        inputs: record
            .get("inputs")
            .filter(|_| single)
            .map(Value::redacted)
            .unwrap_or_default(),
        read: read
            .filter_map(|it| {
                let expected = it.get("expected").map(Value::redacted);
                Some((text(it, "ref")?, expected.unwrap_or_default()))
            })
            .collect(),
        changes: task.changes,
    }
}

fn text(record: &Value, key: &str) -> Option<String> {
    let text = record.get(key)?.to_string();
    (!text.is_empty()).then_some(text)
}

/// Returns the status of the target after a task.
///
/// Records contain this status only within the text of their `summary`.
fn target_status(record: &Value) -> Option<String> {
    let summary = text(record, "summary")?;
    let (_, rest) = summary.split_once(", status ")?;
    let (status, _) = rest.split_once(')')?;
    let known = crate::name::Status::parse(status).is_some();
    known.then(|| status.to_owned())
}
