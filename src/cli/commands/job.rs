//! Runs a job and prints its summary.
//!
//! Shared by all commands that run a job: `deploy`, `teardown`, `stop`, `check`, `discover` and
//! `run`.

use crate::cli::args::format::OutputFormat;
use crate::cli::args::job::{JobArgs, JobExitCode};
use crate::cli::commit_report;
use crate::cli::job_views::{self, PlanDetail};
use crate::cli::output::{Context, Output, relative};
use crate::cli::plan_views::plan_for_people;
use crate::cli::request::job::{JobSpec, job_spec, request};
use crate::cli::screen::job::JobScreen;
use crate::cli::step_summary;
use crate::diagnostic::Sources;
use crate::job::LogLevel;
use crate::name::Status;
use crate::ops::{self, Failure, FailureKind, JobReport, JobRequest, QueryResult, watch_signals};
use crate::plan::WorkflowKind;
use crate::system::console::StandardStream;
use crate::system::signals::cut_short_by;
use crate::ui::{JobResult, QueryView, SummaryView, upstream};
use crate::value::Map;

/// The status of a job that was not approved.
const DECLINED: &str = "declined";

/// Runs the workflow of a command, or the one named by `--workflow`, and returns the exit code.
pub(in crate::cli) fn run(
    workflow: WorkflowKind,
    args: &JobArgs,
    cx: &Context,
) -> Result<u8, Failure> {
    run_job(job_spec(workflow, args)?, args, cx)
}

/// Runs a job and returns the exit code.
pub(in crate::cli) fn run_job(spec: JobSpec, args: &JobArgs, cx: &Context) -> Result<u8, Failure> {
    let approve = args.control.approve || spec.workflow == WorkflowKind::Check;
    let mut request = request(spec, args, cx)?;
    request.interrupts = watch_signals();
    let mut screen = JobScreen::new(&cx.output, approve, request.interrupts.clone())
        .with_format(args.any.text, &request.recorded_options)
        .with_detail(args.any.detail);
    let report = ops::deploy::deploy(&request, &mut screen);
    screen.clear_progress();
    let report = report.map_err(|failure| prefer_interrupt(failure, &request))?;
    let (query, failure) = query_result(report.query.as_ref(), &cx.output);
    let timed = args.any.starttime.is_none();
    let summary = job_views::summary(&report, args, query, timed).reveal(&args.any.reveal);
    let options = &request.recorded_options;
    show(
        args,
        &report,
        &summary,
        failure.as_ref(),
        options,
        &cx.output,
    );
    commit_report::show_commits(&report.commits, &cx.output);
    step_summary::append(&report, &cx.output);
    let code = exit_code(args.control.jobexitcode, &report, &summary.result);
    let code = commit_report::exit_code(&report.commits, code);
    let code = failure
        .filter(|_| code == 0)
        .map_or(code, |it| it.kind.exit_code());
    // The record is saved, but a signal cut off the release of a lock or a push.
    let interrupted = cut_short_by().map(|signal| FailureKind::Interrupted(signal).exit_code());
    let code = interrupted.unwrap_or(code);
    // The process ends now. Dropping the large report piece by piece would only cost time.
    std::mem::forget(report);
    Ok(code)
}

/// Replaces a failure by an interruption if a signal came before the job started.
pub(in crate::cli) fn prefer_interrupt(failure: Failure, request: &JobRequest) -> Failure {
    match request.interrupts.first_before_start() {
        Some(signal) => Failure::interrupted(signal),
        None => failure,
    }
}

/// Splits the outcome of `--query` into its view and its failure.
///
/// Prints the trace of the query to the error output.
fn query_result(
    answer: Option<&Result<QueryResult, Failure>>,
    output: &Output,
) -> (Option<QueryView>, Option<Failure>) {
    match answer {
        None => (None, None),
        Some(Err(failure)) => (None, Some(failure.clone())),
        Some(Ok(answer)) => (Some(show_trace(answer, output)), None),
    }
}

/// Prints the attributes that a query read and returns the view of its result.
pub(in crate::cli) fn show_trace(answer: &QueryResult, output: &Output) -> QueryView {
    if let Some(warning) = &answer.warning {
        output.diagnostics(&warning.clone().into(), &Sources::default());
    }
    for (key, value) in &answer.trace {
        output.print_stderr(&format!("trace: {key} is {value}\n"));
    }
    QueryView {
        expression: answer.expression.clone(),
        result: answer.value.clone(),
    }
}

/// Prints the summary of a job, and the failure of its query if there is one.
fn show(
    args: &JobArgs,
    report: &JobReport,
    summary: &SummaryView,
    failure: Option<&Failure>,
    options: &Map,
    output: &Output,
) {
    if let Some(failure) = failure {
        output.diagnostics(&failure.problems, &failure.sources);
    }
    match args.any.output {
        OutputFormat::Json => output.json(&json(args, report, summary, failure, output)),
        OutputFormat::Text if report.declined => {
            output.print_result("Nothing was done: the plan was not approved.\n");
        }
        OutputFormat::Text if args.any.text.is_unfurl() => {
            if let Some(plan) = &report.plan {
                let plan = job_views::plan(plan, &report.sources, PlanDetail::Planned);
                let plan = job_views::plan_text(
                    plan,
                    args.any.text,
                    options,
                    output.plan_style(StandardStream::Stderr, false),
                );
                output.message(LogLevel::Info, plan.trim_end());
            }
            let text = upstream::summary_text(summary, output.width);
            output.print_result(&text);
        }
        OutputFormat::Text => show_text(args, report, summary, output),
        OutputFormat::None => {}
    }
}

/// Returns the summary as JSON, with the commits, the problems and the failures of the job.
fn json(
    args: &JobArgs,
    report: &JobReport,
    summary: &SummaryView,
    failure: Option<&Failure>,
    output: &Output,
) -> serde_json::Value {
    let mut summary = summary.json();
    if report.declined {
        summary["job"]["status"] = DECLINED.into();
    }
    let problems = output.json_of(&report.problems, &report.sources);
    if args.control.keep.request().is_some() {
        summary["commits"] = commit_report::json(&report.commits);
    }
    if let Some(saved) = &report.saved_inputs {
        let names = saved.iter().map(ToString::to_string);
        summary["savedInputs"] = names.collect();
    }
    if !problems.is_empty() {
        summary["problems"] = problems.into();
    }
    let of_commits = report.commits.failure.as_ref().map(Failure::from);
    let failures = [failure, of_commits.as_ref()];
    let errors = failures.into_iter().flatten();
    let errors = errors.flat_map(|it| output.json_of(&it.problems, &it.sources));
    let errors: Vec<_> = errors.collect();
    if !errors.is_empty() {
        summary["errors"] = errors.into();
    }
    summary
}

/// Prints the summary for people, below the plan if the job was a dry run.
pub(in crate::cli) fn show_text(
    args: &JobArgs,
    report: &JobReport,
    summary: &SummaryView,
    output: &Output,
) {
    let verbose = output.level <= LogLevel::Verbose;
    let paint = output.result_paint();
    if report.job.is_dry_run()
        && !summary.result.instances.is_empty()
        && let Some(plan) = &report.plan
    {
        let sources = relative(&report.sources);
        let plan = plan_for_people(plan, &sources);
        let style = output.plan_style(StandardStream::Stdout, args.any.detail);
        output.print_styled_result(&plan.text(style));
    }
    output.print_styled_result(&summary.text(output.width, paint, verbose));
}

fn exit_code(limit: JobExitCode, report: &JobReport, result: &JobResult) -> u8 {
    if let Some(signal) = report.job.interrupted {
        return u8::try_from(128 + signal).unwrap_or(130);
    }
    if report.declined {
        return FailureKind::Refused.exit_code();
    }
    let status = report.job.status;
    let bad = match limit {
        // The status of the job is that of its tasks; a check succeeds also if it finds trouble.
        JobExitCode::Error => {
            let checks = report.job.goal.workflow == WorkflowKind::Check;
            status >= Status::Error || (checks && result.found_error())
        }
        JobExitCode::Degraded => status >= Status::Degraded || result.is_degraded(),
        JobExitCode::Never => false,
    };
    let retained = report.job.topology.orphans();
    let retained = retained
        .filter(|orphan| orphan.retention_reason.is_some())
        .count();
    if bad || (retained > 0 && limit != JobExitCode::Never) {
        FailureKind::JobFailed.exit_code()
    } else if report.job.values.outputs_failed {
        FailureKind::Refused.exit_code()
    } else {
        0
    }
}
