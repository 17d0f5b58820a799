//! The command `history replay`: shows a finished job again, as its display showed it.

use super::history::job_line;
use crate::cli::args::replay::ReplayArgs;
use crate::cli::display::Display;
use crate::cli::output::Context;
use crate::cli::request::session::session_options;
use crate::cli::screen::views;
use crate::ensemble::history::{History, PastTask, Selection};
use crate::job::LogLevel;
use crate::name::Status;
use crate::ops::{Failure, FailureKind, history, watch_signals};
use crate::system::signals::Interrupts;
use crate::ui::{Replay, ReplayView, ReplayedJob};

/// Plays a job, and returns the exit code.
pub(in crate::cli) fn replay(args: &ReplayArgs, cx: &Context) -> Result<u8, Failure> {
    let options = session_options(&args.ensemble, args.use_environment.as_deref(), cx);
    let selection = Selection {
        job: Some(args.job.clone()),
        ..Selection::default()
    };
    let interrupts = watch_signals();
    let found = history::history(&options, &selection)?;
    let History::Job {
        job,
        tasks,
        problems,
        ..
    } = found
    else {
        return Err(Failure::usage("name a job"));
    };
    for problem in &problems {
        cx.output.message(LogLevel::Warning, problem);
    }
    let line = job_line(&job);
    if tasks.is_empty() {
        let message = format!("no task of the job {} is recorded", line.id);
        let hint = "the files in `jobs` and `changes` hold the records of tasks; `unfurl history` lists \
                    the jobs";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.to_owned()),
        ));
    }
    let tasks: Vec<PastTask> = tasks
        .iter()
        .map(|task| PastTask::of(&task.record, line.start.as_deref()))
        .collect();
    if tasks.iter().all(|task| task.times.is_none()) {
        let message = "the record has no times, so all tasks are shown at once";
        cx.output.message(LogLevel::Info, message);
    }
    let status = line.status.as_deref().and_then(Status::parse);
    let replayed = ReplayedJob {
        id: line.id.clone(),
        workflow: line.workflow.clone().unwrap_or_default(),
        status: status.unwrap_or(Status::Unknown),
    };
    let replay = Replay::new(&replayed, &tasks);
    let (view, terminal_use) = views::replay_view(&cx.output, replay.start);
    let speed = args.speed.unwrap_or_else(|| replay.usual_speed());
    let view = ReplayView::new(view, &replay, speed);
    if let Some(display) = Display::start(Box::new(view), terminal_use)
        && let Err(signal) = play(&replay, display, speed, &interrupts)
    {
        return Ok(FailureKind::Interrupted(signal).exit_code());
    }
    cx.output.print_result(&line.line());
    Ok(0)
}

/// Sends the events of a job to its display at a speed. A signal ends the display at once and is returned.
fn play(replay: &Replay, display: Display, speed: f64, interrupts: &Interrupts) -> Result<(), i32> {
    for (at, event) in &replay.events {
        if speed > 0.0 {
            let left = at.div_f64(speed).saturating_sub(display.elapsed());
            interrupts.wait(left);
        }
        if let Some(signal) = interrupts.acknowledge() {
            return Err(signal);
        }
        display.send(event.clone());
    }
    drop(display);
    Ok(())
}
