//! Runs a job and shows what came of it, for the commands that run one.

use crate::cli::args::format::OutputFormat;
use crate::cli::args::job::{JobArgs, JobExitCode};
use crate::cli::commits;
use crate::cli::output::{Context, Output, relative};
use crate::cli::request::job::{Deed, chosen, request};
use crate::cli::screen::job::Screen;
use crate::cli::views::{self, Audience};
use crate::name::Status;
use crate::ops::{self, Answer, Failure, FailureKind, JobReport, JobRequest, watch_signals};
use crate::plan::Workflow;
use crate::ui::Query;

/// Runs the workflow of a command, or the one that `--workflow` names; gives the exit code.
pub(in crate::cli) fn run(workflow: Workflow, args: &JobArgs, cx: &Context) -> Result<u8, Failure> {
    perform(chosen(workflow, args)?, args, cx)
}

/// Runs a job; gives the exit code.
pub(in crate::cli) fn perform(deed: Deed, args: &JobArgs, cx: &Context) -> Result<u8, Failure> {
    let approve = args.control.approve || deed.workflow == Workflow::Check;
    let mut request = request(deed, args, cx)?;
    request.interrupts = watch_signals();
    let mut screen = Screen::new(&cx.output, approve, request.interrupts.clone());
    let report = ops::deploy::deploy(&request, &mut screen);
    screen.done();
    let report = report.map_err(|failure| or_interrupted(failure, &request))?;
    let (query, failure) = answered(report.query.as_ref(), &cx.output);
    show(args, &report, query, failure.as_ref(), &cx.output);
    commits::told(&report.commits, &cx.output);
    let code = exit_code(args.control.jobexitcode, &report);
    let code = commits::exit_code(&report.commits, code);
    let code = failure
        .filter(|_| code == 0)
        .map_or(code, |it| it.kind.exit_code());
    // The process ends now: taking the job apart piece by piece would only cost time.
    std::mem::forget(report);
    Ok(code)
}

/// What failed since somebody asked for an end is told as that.
pub(in crate::cli) fn or_interrupted(failure: Failure, request: &JobRequest) -> Failure {
    match request.interrupts.before_start() {
        Some(signal) => Failure::interrupted(signal),
        None => failure,
    }
}

/// What `--query` gave, or why it could not be evaluated; what it read is told.
fn answered(
    answer: Option<&Result<Answer, Failure>>,
    output: &Output,
) -> (Option<Query>, Option<Failure>) {
    match answer {
        None => (None, None),
        Some(Err(failure)) => (None, Some(failure.clone())),
        Some(Ok(answer)) => (Some(traced(answer, output)), None),
    }
}

/// What a query gave; what it read is told.
pub(in crate::cli) fn traced(answer: &Answer, output: &Output) -> Query {
    for (key, value) in &answer.trace {
        output.complain(&format!("trace: {key} is {value}\n"));
    }
    Query {
        expression: answer.expression.clone(),
        result: answer.value.clone(),
    }
}

/// Shows what came of a job, and why its query could not be evaluated if so.
fn show(
    args: &JobArgs,
    report: &JobReport,
    query: Option<Query>,
    failure: Option<&Failure>,
    output: &Output,
) {
    if let Some(failure) = failure {
        output.diagnostics(&failure.problems, &failure.sources);
    }
    let timed = args.any.starttime.is_none();
    let summary = views::summary(report, query, timed);
    match args.any.output {
        OutputFormat::Json => {
            let mut summary = summary.json();
            let problems = output.json_of(&report.problems, &report.sources);
            if args.control.keep.request().is_some() {
                summary["commits"] = commits::json(&report.commits);
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
            output.json(&summary);
        }
        OutputFormat::Text if report.declined => output.answer("Nothing was done.\n"),
        OutputFormat::Text => {
            if report.job.aborted.is_none()
                && let Some(plan) = &report.plan
            {
                let sources = relative(&report.sources);
                let plan = views::plan(plan, &sources, Audience::Person);
                output.answer(&plan.text(output.width));
            }
            output.answer(&summary.text(output.width));
        }
        OutputFormat::None => {}
    }
}

fn exit_code(limit: JobExitCode, report: &JobReport) -> u8 {
    if let Some(signal) = report.job.interrupted {
        return u8::try_from(128 + signal).unwrap_or(130);
    }
    let status = report.job.status;
    let bad = match limit {
        JobExitCode::Error => status >= Status::Error,
        JobExitCode::Degraded => status >= Status::Degraded,
        JobExitCode::Never => false,
    };
    let kept = report.job.topology.orphans();
    let kept = kept.filter(|orphan| orphan.stays.is_some()).count();
    if bad || (kept > 0 && limit != JobExitCode::Never) {
        FailureKind::JobFailed.exit_code()
    } else if report.job.values.outputs_failed {
        FailureKind::Refused.exit_code()
    } else {
        0
    }
}
