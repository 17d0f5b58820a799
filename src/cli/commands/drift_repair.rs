//! The option `--repair` of the command `drift`: shows the plan that removes the drift, and runs it if it is approved.

use clap::Args;
use serde_json::{Value as Json, json};

use crate::cli::args::format::OutputFormat;
use crate::cli::args::job::{CommitRecordArgs, JobArgs};
use crate::cli::commands::job::show_text;
use crate::cli::commit_report;
use crate::cli::job_views;
use crate::cli::output::Context;
use crate::cli::request::job::{JobSpec, request};
use crate::cli::screen::job::JobScreen;
use crate::drift::{DriftAnswer, verdict};
use crate::job::LogLevel;
use crate::name::{InstanceName, Status};
use crate::ops::drift::{DriftRepair, RepairScope, choose_repairs, repair};
use crate::ops::{Failure, FailureKind, JobReport, JobRequest};
use crate::plan::{Repair, WorkflowKind};
use crate::system::signals::Interrupts;
use crate::text::shlex_quote;

/// The options of `drift` that remove the drift.
#[derive(Debug, Args)]
pub(in crate::cli) struct RepairArgs {
    /// Show the plan that removes the drift from outside, and run it if it is approved; with `--all`, also the drift that
    /// a rule ignores
    #[arg(long)]
    pub(in crate::cli) repair: bool,
    /// Repair only what the policies (`on_drift`) say, and list what they say to ask about
    #[arg(long, requires = "repair", conflicts_with = "all")]
    pub(in crate::cli) by_policy: bool,
    /// Run the plan without asking
    #[arg(short, long, requires = "repair")]
    pub(in crate::cli) approve: bool,
    #[command(flatten)]
    pub(in crate::cli) keep: CommitRecordArgs,
}

/// An ensemble with its look, and its repair if any.
#[derive(Debug)]
pub(in crate::cli) struct RepairedEnsemble {
    /// The answer of the last look.
    pub(in crate::cli) answer: DriftAnswer,
    repair: DriftRepair,
    /// The ensemble as the user named it.
    ensemble: String,
}

/// Repairs the drift of each answer with a job. Returns the ensembles with their last answers.
pub(in crate::cli) fn repair_all(
    answers: Vec<DriftAnswer>,
    looks: &[JobRequest],
    jobs: &[JobArgs],
    (scope, approve): (RepairScope, bool),
    cx: &Context,
) -> Result<Vec<RepairedEnsemble>, Failure> {
    let mut repaired = Vec::new();
    for ((answer, look), args) in answers.into_iter().zip(looks).zip(jobs) {
        let choice = choose_repairs(&answer, scope);
        let names = |names: &[InstanceName]| {
            let names: Vec<_> = names.iter().map(InstanceName::as_str).collect();
            names.join(", ")
        };
        if !choice.pending.is_empty() {
            let names = names(&choice.pending);
            let text = format!(
                "the model has changed as well: the repair also applies the pending changes of {names}"
            );
            cx.output.message(LogLevel::Warning, &text);
        }
        let job = job_request(args, look.interrupts.clone(), cx)?;
        let mut screen = JobScreen::new(&cx.output, approve, look.interrupts.clone())
            .with_format(args.any.text, &job.recorded_options);
        let result = repair(&answer, choice, look, &job, &mut screen);
        screen.clear_progress();
        let mut repair = result?;
        if let Some(report) = &repair.job {
            show_job(report, args, cx);
        }
        repaired.push(RepairedEnsemble {
            answer: repair.after.take().unwrap_or(answer),
            repair,
            ensemble: args.ensemble.ensemble.clone(),
        });
    }
    Ok(repaired)
}

/// Returns the request of a job that repairs and is recorded.
fn job_request(
    args: &JobArgs,
    interrupts: Interrupts,
    cx: &Context,
) -> Result<JobRequest, Failure> {
    let mut job = request(JobSpec::from_workflow(WorkflowKind::Deploy)?, args, cx)?;
    job.interrupts = interrupts;
    let command = format!("unfurl drift --repair {}", args.ensemble.ensemble);
    command.trim_end().clone_into(&mut job.command);
    Ok(job)
}

/// Returns the options of the job that repairs, from those of the look.
///
/// The summary of the job is shown if `is_text` is set.
pub(in crate::cli) fn repair_job_args(
    look: JobArgs,
    repair: &RepairArgs,
    is_text: bool,
) -> JobArgs {
    let mut args = look;
    if !is_text {
        args.any.output = OutputFormat::None;
    }
    args.control.approve = repair.approve;
    args.control.keep = CommitRecordArgs {
        save_inputs: repair.keep.save_inputs,
        commit: repair.keep.commit,
        push: repair.keep.push,
        message: repair.keep.message.clone(),
    };
    args.reach.repair = Repair::Degraded;
    args
}

/// Shows the end of a job, and its commits.
fn show_job(report: &JobReport, args: &JobArgs, cx: &Context) {
    if let Some(failure) = &report.job.aborted {
        cx.output.message(LogLevel::Error, failure);
    }
    if !report.declined && args.any.output == OutputFormat::Text {
        let summary = job_views::summary(report, args, None, true);
        show_text(args, report, &summary, &cx.output);
    }
    commit_report::show_commits(&report.commits, &cx.output);
}

impl RepairedEnsemble {
    /// Returns the result of the repair in one word.
    fn result(&self) -> &'static str {
        match &self.repair.job {
            None => "nothing",
            Some(report) if report.declined => "declined",
            Some(report) if report.job.interrupted.is_some() => "interrupted",
            Some(report) if report.job.status >= Status::Error => "failed",
            Some(_) => "done",
        }
    }

    /// Returns the repair as text: its result, and the commands for what people are asked about.
    pub(in crate::cli) fn text(&self) -> String {
        let name = &self.answer.name;
        let choice = &self.repair.choice;
        let is_left = choose_repairs(&self.answer, RepairScope::Alarms);
        let left = is_left.repair.len();
        let result = match self.result() {
            "declined" => "declined: nothing was changed".to_owned(),
            "nothing" if left == 0 => "nothing to repair".to_owned(),
            "nothing" => "nothing to repair by policy".to_owned(),
            _ if left == 0 => "drift is gone".to_owned(),
            _ => {
                let names: Vec<_> = is_left.repair.iter().map(InstanceName::as_str).collect();
                format!("drift is left in {}", names.join(", "))
            }
        };
        let mut text = format!("{name}: {result}\n");
        for instance in &choice.ask {
            text.push_str(&format!("  ask: {}\n", self.command(instance)));
        }
        text
    }

    /// Returns the command that repairs an instance.
    fn command(&self, instance: &InstanceName) -> String {
        let ensemble = match &*self.ensemble {
            "" => String::new(),
            name => format!(" {}", shlex_quote(name)),
        };
        let instance = shlex_quote(instance.as_str());
        format!("unfurl drift{ensemble} -i {instance} --repair")
    }

    /// Returns the repair for programs.
    pub(in crate::cli) fn json(&self) -> Json {
        let names = |names: &[InstanceName]| -> Vec<Json> {
            names.iter().map(|name| name.as_str().into()).collect()
        };
        let choice = &self.repair.choice;
        let ask = choice.ask.iter().map(
            |instance| json!({ "instance": instance.as_str(), "command": self.command(instance) }),
        );
        let job = self.repair.job.as_ref().filter(|job| !job.declined);
        json!({
            "result": self.result(),
            "job": job.map(|job| job.job.head.id.to_string()),
            "instances": names(&choice.repair),
            "pending": names(&choice.pending),
            "ask": ask.collect::<Vec<_>>(),
        })
    }
}

/// Returns the exit code: that of the last answers, unless a repair was declined, interrupted or failed.
pub(in crate::cli) fn exit_code(repaired: &[RepairedEnsemble]) -> u8 {
    let jobs = || repaired.iter().filter_map(|it| it.repair.job.as_ref());
    if let Some(signal) = jobs().find_map(|job| job.job.interrupted) {
        return FailureKind::Interrupted(signal).exit_code();
    }
    if jobs().any(|job| job.declined) {
        return FailureKind::Refused.exit_code();
    }
    let answers: Vec<DriftAnswer> = repaired.iter().map(|it| it.answer.clone()).collect();
    let failed = repaired.iter().any(|it| it.result() == "failed");
    match verdict(&answers).exit_code() {
        0 if failed => FailureKind::Refused.exit_code(),
        code => jobs().fold(code, |code, job| {
            commit_report::exit_code(&job.commits, code)
        }),
    }
}
