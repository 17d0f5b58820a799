//! The command `schedule`: shows the schedules of a project and their runs, and runs, pauses or resumes one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::schedule_install::{InstallArgs, change_installation};
use crate::cli::args::format::HostOutput;
use crate::cli::output::{Context, relative};
use crate::cli::request::session::home;
use crate::job::LogLevel;
use crate::ops::schedules::{
    FailedDelivery, ProjectSchedules, ScheduleState, SchedulesRequest, StartedRun, damage_text,
    exit_code, overview, pause, read_log, run_now, undelivered, upcoming,
};
use crate::ops::{Failure, watch_signals};
use crate::schedule::{Entry, Missed, Overlap, RunReport, ScheduleLog};
use crate::session::current_dir;
use crate::system::fs;
use crate::ui::{Table, age_text};

/// Show the schedules of the project and their runs; run, pause or resume one
#[derive(Debug, Args)]
pub(in crate::cli) struct ScheduleArgs {
    #[command(subcommand)]
    pub(in crate::cli) action: ScheduleCommand,
}

/// The subcommands of the command `schedule`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ScheduleCommand {
    /// Show the schedules with their last runs and next due times
    ///
    /// Exit codes: 0; 1 if a schedule of `unfurl.yaml` is wrong, which hinders only this schedule.
    List(ListArgs),
    /// Show the next due times
    ///
    /// `Start` differs from `Due` by the jitter. Times are in UTC.
    Next(NextArgs),
    /// Run a schedule now and wait for its end
    ///
    /// Exit codes: 0 if the run is done or skipped, or if nothing is due; 1 if it failed, was cut off or could not begin
    /// because another run of the schedule continues. Drift that a run finds is its result, not a failure.
    Run(RunArgs),
    /// Show what happened at each due time
    ///
    /// Each due time has one row: running, done, failed, skipped with the reason, or cut off. Several skipped times in
    /// a row share a row. Times are in UTC.
    Log(LogArgs),
    /// Skip the due times of a schedule until it is resumed
    ///
    /// A run that has begun continues. `unfurl schedule run` still runs a paused schedule.
    Pause(NameArgs),
    /// End the pause of a schedule
    ///
    /// The due times of the pause get one row in the log; none of them runs.
    Resume(NameArgs),
    /// Let cron or timers of systemd run the schedules
    Install(InstallArgs),
    /// Remove what `schedule install` has written
    Uninstall(InstallArgs),
}

/// The options of `schedule list`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: HostOutput,
}

/// The options of `schedule next`.
#[derive(Debug, Args)]
pub(in crate::cli) struct NextArgs {
    /// The schedule; by default, all of them
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The number of due times
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    count: usize,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: HostOutput,
}

/// The options of `schedule run`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RunArgs {
    /// The schedule
    #[arg(value_name = "NAME")]
    name: String,
    /// Run only if a due time is open, and claim it; for cron and systemd
    #[arg(long)]
    if_due: bool,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: HostOutput,
}

/// The options of `schedule log`.
#[derive(Debug, Args)]
pub(in crate::cli) struct LogArgs {
    /// The schedule; by default, all of them
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The number of rows per schedule, the last ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    count: usize,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: HostOutput,
}

/// The options of `schedule pause` and `schedule resume`.
#[derive(Debug, Args)]
pub(in crate::cli) struct NameArgs {
    /// The schedule
    #[arg(value_name = "NAME")]
    name: String,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: HostOutput,
}

/// Runs a subcommand of `schedule` and returns the exit code.
pub(in crate::cli) fn schedule(args: &ScheduleArgs, cx: &Context) -> Result<u8, Failure> {
    let loaded = ProjectSchedules::load(&schedules_request(None, cx))?;
    match &args.action {
        ScheduleCommand::List(args) => list(&loaded, args, cx),
        ScheduleCommand::Next(args) => next(&loaded, args, cx),
        ScheduleCommand::Run(args) => run(&loaded, args, cx),
        ScheduleCommand::Log(args) => log(&loaded, args, cx),
        ScheduleCommand::Pause(args) => set_pause(&loaded, args, true, cx),
        ScheduleCommand::Resume(args) => set_pause(&loaded, args, false, cx),
        ScheduleCommand::Install(args) => change_installation(&loaded, args, true, cx),
        ScheduleCommand::Uninstall(args) => change_installation(&loaded, args, false, cx),
    }
}

/// Returns the request for the schedules of a project.
pub(in crate::cli) fn schedules_request(
    project: Option<PathBuf>,
    cx: &Context,
) -> SchedulesRequest {
    SchedulesRequest {
        project,
        globals: global_words(cx),
        home: home(cx),
        allowed: cx.global.allow.clone(),
    }
}

/// Returns the global options that the commands of schedules get, too.
fn global_words(cx: &Context) -> Vec<String> {
    let global = &cx.global;
    let mut words = Vec::new();
    // The commands run in the folder of the project.
    let absolute = |path: &Path| match current_dir() {
        Ok(cwd) => fs::absolute(path, &cwd).display().to_string(),
        Err(_) => path.display().to_string(),
    };
    if let Some(home) = &global.home {
        let is_given = !home.is_empty();
        let home = if is_given {
            absolute(Path::new(home))
        } else {
            String::new()
        };
        words.extend(["--home".to_owned(), home]);
    }
    if let Some(folder) = &global.tmp {
        words.extend(["--tmp".to_owned(), absolute(folder)]);
    }
    if !global.allow.is_empty() {
        words.extend(["--allow".to_owned(), global.allow.join(",")]);
    }
    words
}

/// Returns a time in UTC, with seconds only if it has some.
fn shown(time: Timestamp) -> String {
    let format = if time.as_second() % 60 == 0 {
        "%Y-%m-%d %H:%MZ"
    } else {
        "%Y-%m-%d %H:%M:%SZ"
    };
    time.strftime(format).to_string()
}

fn list(loaded: &ProjectSchedules, args: &ListArgs, cx: &Context) -> Result<u8, Failure> {
    let states = overview(loaded)?;
    let invalid = &loaded.schedules.invalid;
    // A wrong schedule is shown beside the others, and makes the command fail.
    cx.output
        .diagnostics(&loaded.schedules.problems, &relative(&loaded.sources));
    match args.output {
        HostOutput::Json => {
            let problems = cx
                .output
                .json_of(&loaded.schedules.problems, &relative(&loaded.sources));
            let schedules: Vec<Json> = states.iter().map(json_of_state).collect();
            let invalid: Vec<&str> = invalid.iter().map(|name| &**name).collect();
            cx.output
                .json(&json!({ "schedules": schedules, "invalid": invalid, "problems": problems }));
        }
        HostOutput::Text if states.is_empty() && invalid.is_empty() => {
            let file = loaded.file.display();
            cx.output.print_result(&format!(
                "No schedules: `{file}` has none under `schedules`.\n"
            ));
        }
        HostOutput::Text => {
            let mut table = Table::new(&["Schedule", "Action", "When", "Next", "Last", "State"])
                .dispensable(&[1])
                .prose(2);
            for state in &states {
                let last = state.log.entries.last();
                let last = last.map(|entry| {
                    let age = state.now.duration_since(entry.last_due());
                    let age = Duration::try_from(age).unwrap_or_default();
                    format!("{}, {}", entry.word(), age_text(age))
                });
                table.row([
                    state.spec.name.to_string(),
                    state.spec.action.to_string(),
                    state.spec.timing.to_string(),
                    state.next.map_or_else(|| "-".to_owned(), shown),
                    last.unwrap_or_else(|| "-".to_owned()),
                    state_word(state).to_owned(),
                ]);
            }
            for name in invalid {
                table.row([&**name, "-", "-", "-", "-", "invalid"]);
            }
            cx.output
                .print_result(&table.render(cx.output.table_layout()));
        }
    }
    Ok(u8::from(!invalid.is_empty()))
}

fn state_word(state: &ScheduleState) -> &'static str {
    if state.log.paused_since.is_some() {
        return "paused";
    }
    match state.log.running().next() {
        Some(_) => "running",
        None => "active",
    }
}

fn json_of_state(state: &ScheduleState) -> Json {
    let spec = &state.spec;
    json!({
        "name": &*spec.name,
        "action": spec.action.to_string(),
        "when": spec.timing.to_string(),
        "ensembles": spec.ensembles.iter().map(|it| &**it).collect::<Vec<_>>(),
        "environment": spec.environment.as_deref(),
        "hosts": spec.hosts.iter().map(|it| &**it).collect::<Vec<_>>(),
        "jitter": spec.jitter.as_secs_f64(),
        "overlap": if spec.overlap == Overlap::Wait { "wait" } else { "skip" },
        "missed": if spec.missed == Missed::Run { "run" } else { "skip" },
        "time_limit": spec.time_limit.as_secs_f64(),
        "at_most": spec.at_most,
        "notify": spec.notify.iter().map(|rule| rule.target.to_string()).collect::<Vec<_>>(),
        "state": state_word(state),
        "paused_since": state.log.paused_since.map(|time| time.to_string()),
        "next": state.next.map(|time| time.to_string()),
        "last": state.log.entries.last().map(json_of_entry),
    })
}

fn next(loaded: &ProjectSchedules, args: &NextArgs, cx: &Context) -> Result<u8, Failure> {
    let times = upcoming(loaded, args.name.as_deref(), args.count)?;
    match args.output {
        HostOutput::Json => {
            let times = times.iter().map(|time| {
                json!({
                    "schedule": &*time.name,
                    "due": time.due.to_string(),
                    "start": time.start.to_string(),
                    "paused": time.is_paused,
                })
            });
            cx.output.json(&times.collect());
        }
        HostOutput::Text => {
            let mut table = Table::new(&["Due", "Start", "Schedule", "State"]);
            for time in &times {
                let state = if time.is_paused { "paused" } else { "" };
                table.row([&shown(time.due), &shown(time.start), &*time.name, state]);
            }
            cx.output
                .print_result(&table.render(cx.output.table_layout()));
        }
    }
    Ok(0)
}

fn run(loaded: &ProjectSchedules, args: &RunArgs, cx: &Context) -> Result<u8, Failure> {
    let interrupts = watch_signals();
    let StartedRun { report, messages } = run_now(loaded, &args.name, args.if_due, &interrupts)?;
    for (schedule, text) in &messages {
        let schedule = if schedule.is_empty() {
            "unfurl"
        } else {
            schedule
        };
        cx.output.print_stderr(&format!("{schedule}: {text}\n"));
    }
    let Some(report) = report else {
        match args.output {
            HostOutput::Json => cx
                .output
                .json(&json!({ "schedule": args.name, "status": "not due" })),
            HostOutput::Text => cx.output.print_result("Nothing is due.\n"),
        }
        return Ok(0);
    };
    match args.output {
        HostOutput::Json => cx.output.json(&json_of_report(&report)),
        HostOutput::Text => {
            let text = format!(
                "{}: {}: {}\n",
                report.schedule,
                report.outcome.word(),
                report.reason
            );
            cx.output.print_result(&text);
        }
    }
    Ok(exit_code(&report))
}

fn json_of_report(report: &RunReport) -> Json {
    json!({
        "schedule": &*report.schedule,
        "due": report.due.to_string(),
        "started": report.started.to_string(),
        "ended": report.ended.to_string(),
        "status": report.outcome.word(),
        "reason": &*report.reason,
        "result": report.details(),
    })
}

fn log(loaded: &ProjectSchedules, args: &LogArgs, cx: &Context) -> Result<u8, Failure> {
    let logs = read_log(loaded, args.name.as_deref())?;
    let mut undelivered = undelivered(loaded, args.name.as_deref())?;
    undelivered.drain(..undelivered.len().saturating_sub(args.count));
    let rows = |log: &ScheduleLog| log.entries.len().saturating_sub(args.count);
    match args.output {
        HostOutput::Json => {
            let logs = logs.iter().map(|(name, log)| {
                let entries: Vec<Json> =
                    log.entries[rows(log)..].iter().map(json_of_entry).collect();
                let failed = undelivered.iter().filter(|it| it.schedule == **name);
                let failed: Vec<Json> = failed.map(json_of_delivery).collect();
                json!({
                    "schedule": &**name,
                    "rows": entries,
                    "damaged_lines": log.damaged,
                    "undelivered": failed,
                })
            });
            cx.output.json(&logs.collect());
        }
        HostOutput::Text => {
            let mut table = Table::new(&["Schedule", "Due", "Result", "Details"]).prose(3);
            for (name, log) in &logs {
                for entry in &log.entries[rows(log)..] {
                    table.row([
                        &**name,
                        &shown(entry.due()),
                        entry.word(),
                        &details_text(entry),
                    ]);
                }
            }
            let mut text = table.render(cx.output.table_layout());
            if !undelivered.is_empty() {
                text += "\nNotices that were not delivered:\n";
                text += &deliveries_table(&undelivered).render(cx.output.table_layout());
            }
            cx.output.print_result(&text);
            for (name, log) in logs.iter().filter(|(_, log)| log.damaged > 0) {
                let file = loaded.log_file(name);
                let text = damage_text(log.damaged, &file);
                cx.output.message(LogLevel::Warning, &text);
            }
        }
    }
    Ok(0)
}

fn deliveries_table(deliveries: &[FailedDelivery]) -> Table {
    let mut table =
        Table::new(&["Schedule", "Last attempt", "Result", "Target", "Reason"]).prose(4);
    for it in deliveries {
        let result = if it.is_given_up { "given up" } else { "waits" };
        let result = format!("{result} ({})", it.attempts);
        table.row([&it.schedule, &shown(it.at), &result, &it.target, &it.reason]);
    }
    table
}

fn json_of_delivery(delivery: &FailedDelivery) -> Json {
    json!({
        "at": delivery.at.to_string(),
        "id": delivery.id,
        "status": if delivery.is_given_up { "given-up" } else { "waits" },
        "attempts": delivery.attempts,
        "target": delivery.target,
        "title": delivery.title,
        "reason": delivery.reason,
    })
}

fn details_text(entry: &Entry) -> String {
    match entry {
        Entry::Skipped(skipped) if skipped.count > 1 => {
            let last = shown(skipped.last);
            format!("{} times until {last}: {}", skipped.count, skipped.reason)
        }
        Entry::Skipped(skipped) => skipped.reason.to_string(),
        Entry::Run(claim, end) => {
            let mut text = end.as_ref().map_or_else(
                || format!("since {}", shown(claim.at)),
                |end| end.reason.to_string(),
            );
            if claim.is_manual {
                text += " (by command)";
            }
            if claim.attempt > 1 {
                text += &format!(" (attempt {})", claim.attempt);
            }
            text
        }
    }
}

fn json_of_entry(entry: &Entry) -> Json {
    let mut json = json!({
        "due": entry.due().to_string(),
        "last_due": entry.last_due().to_string(),
        "count": entry.count(),
        "status": entry.word(),
    });
    let more = match entry {
        Entry::Skipped(skipped) => {
            json!({ "reason": &*skipped.reason, "missed": skipped.is_missed })
        }
        Entry::Run(claim, end) => {
            let result = end
                .as_ref()
                .map(|end| serde_json::from_str::<Json>(&end.details));
            json!({
                "started": claim.at.to_string(),
                "ended": end.as_ref().map(|end| end.at.to_string()),
                "reason": end.as_ref().map(|end| &*end.reason),
                "attempt": claim.attempt,
                "manual": claim.is_manual,
                "result": result.and_then(Result::ok),
            })
        }
    };
    if let (Json::Object(json), Json::Object(more)) = (&mut json, more) {
        json.extend(more);
    }
    json
}

fn set_pause(
    loaded: &ProjectSchedules,
    args: &NameArgs,
    is_paused: bool,
    cx: &Context,
) -> Result<u8, Failure> {
    let has_changed = pause(loaded, &args.name, is_paused)?;
    let state = if is_paused { "paused" } else { "active" };
    match args.output {
        HostOutput::Json => {
            let json = json!({ "schedule": args.name, "state": state, "changed": has_changed });
            cx.output.json(&json);
        }
        HostOutput::Text => {
            let before = if has_changed { "is now" } else { "was already" };
            let text = format!("The schedule `{}` {before} {state}.\n", args.name);
            cx.output.print_result(&text);
        }
    }
    Ok(0)
}
