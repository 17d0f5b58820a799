//! Reads facts of this machine and applies changes to it.
//!
//! File operations run within this process, on threads for blocking work; commands run as child
//! processes. Other hosts are reached by `host` instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::guard::Guard;
use super::limits::RunLimits;
use super::local_command::{CancelSignals, LocalCommand};
use super::private_work;
use crate::host::change::Change;
use crate::host::fact::{Fact, FactReading};
use crate::host::native::{self, AccountNames, FactReader};
use crate::host::{
    Action, ActionResult, ChangeOutput, Command, Exit, PrivateOutput, ReadOutput, RunOutput,
    change_failure,
};
use crate::system::env::Env;

/// A running action that reads facts of this machine or changes it.
pub(super) struct LocalAction {
    pub(super) id: u64,
    pub(super) action: Action,
    pub(super) limits: Arc<RunLimits>,
    pub(super) guard: Option<Arc<Guard>>,
}

impl LocalAction {
    /// Performs the action. The result reports success or failure in every case.
    pub(super) async fn perform(mut self, mut ends: CancelSignals) -> ActionResult {
        let start = Instant::now();
        let action = std::mem::replace(&mut self.action, Action::Read(Vec::new()));
        match action {
            Action::Read(facts) => {
                let (exit, readings) = self.read(facts, &mut ends).await;
                ActionResult::Read(ReadOutput {
                    exit,
                    readings,
                    elapsed: start.elapsed(),
                })
            }
            Action::Change(changes) => {
                let (exit, outputs) = self.change(changes, &mut ends).await;
                ActionResult::Change(ChangeOutput {
                    exit,
                    outputs,
                    elapsed: start.elapsed(),
                })
            }
            Action::Private(work) => {
                let done = in_background(
                    move |_: &AtomicBool| private_work::perform(&work),
                    &mut ends,
                );
                let failed = || PrivateOutput::not_done(aborted_exit());
                ActionResult::Private(PrivateOutput {
                    elapsed: start.elapsed(),
                    ..done.await.unwrap_or_else(failed)
                })
            }
            other => {
                let why = "internal error: the action is neither a read nor a change".to_owned();
                ActionResult::not_performed(&other, Exit::Failed(why))
            }
        }
    }

    async fn read(&self, facts: Vec<Fact>, ends: &mut CancelSignals) -> (Exit, Vec<FactReading>) {
        let reading = move |stop: &AtomicBool| {
            let mut reader = FactReader::default();
            let mut readings = Vec::with_capacity(facts.len());
            for fact in &facts {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                readings.push(reader.read(fact));
            }
            (facts, readings)
        };
        let Some((facts, found)) = in_background(reading, ends).await else {
            return (aborted_exit(), Vec::new());
        };
        let env = Env::of_this_process();
        let mut readings = Vec::with_capacity(facts.len());
        for (fact, reading) in facts.iter().zip(found) {
            let reading = match (reading, fact) {
                (Some(reading), _) => reading,
                (None, Fact::Probe(probe)) => {
                    let command = native::probe_command(probe, &env);
                    let output = self.run(command, ends).await;
                    if output.exit == Exit::Cancelled {
                        return (Exit::Cancelled, readings);
                    }
                    match native::probe_output(&output) {
                        Ok(probed) => FactReading::Probe(probed),
                        Err(why) => FactReading::Failed(why),
                    }
                }
                (None, _) => FactReading::Absent,
            };
            readings.push(reading);
        }
        if readings.len() < facts.len() {
            return (Exit::Cancelled, readings);
        }
        (Exit::Code(0), readings)
    }

    async fn change(
        &self,
        changes: Vec<Change>,
        ends: &mut CancelSignals,
    ) -> (Exit, Vec<RunOutput>) {
        let env = Env::of_this_process();
        let mut outputs = Vec::with_capacity(changes.len());
        let mut rest = changes.into_iter().peekable();
        while let Some(next) = rest.next() {
            if let Change::Run(run) = &next {
                let output = self.run(native::run_command(run, &env), ends).await;
                let failure = change_failure(&next, &output);
                outputs.push(output);
                if let Some(exit) = failure {
                    return (exit, outputs);
                }
                continue;
            }
            let mut files = vec![next];
            while let Some(file) = rest.next_if(|it| !matches!(it, Change::Run(_))) {
                files.push(file);
            }
            let Some((exit, file_outputs)) =
                in_background(move |stop| apply(&files, stop), ends).await
            else {
                return (aborted_exit(), outputs);
            };
            outputs.extend(file_outputs);
            if !exit.is_ok() {
                return (exit, outputs);
            }
        }
        (Exit::Code(0), outputs)
    }

    /// Runs one command. Cancelling the action cancels the command.
    async fn run(&self, command: Command, ends: &mut CancelSignals) -> RunOutput {
        let running = LocalCommand {
            input: None,
            id: self.id,
            command,
            limits: Arc::clone(&self.limits),
            echo: None,
            lines: None,
            guard: self.guard.clone(),
        };
        ends.run_part(None, |ends| Box::pin(running.run(ends)))
            .await
    }
}

/// Applies file changes in order until one fails.
fn apply(changes: &[Change], stop: &AtomicBool) -> (Exit, Vec<RunOutput>) {
    let mut names = AccountNames::default();
    let mut outputs = Vec::with_capacity(changes.len());
    for change in changes {
        if stop.load(Ordering::Relaxed) {
            return (Exit::Cancelled, outputs);
        }
        let start = Instant::now();
        let output = match native::apply(change, &mut names) {
            Ok(()) => RunOutput::ok(),
            Err(why) => RunOutput::failed(why),
        };
        let failed = !output.exit.is_ok();
        let elapsed = start.elapsed();
        outputs.push(RunOutput { elapsed, ..output });
        if failed {
            return (Exit::Code(1), outputs);
        }
    }
    (Exit::Code(0), outputs)
}

/// Runs blocking work on another thread.
///
/// On cancellation the work is asked to stop by the flag. None if the work panicked.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ends: &mut CancelSignals,
) -> Option<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let stop_flag = Arc::clone(&stop);
    let mut work = tokio::task::spawn_blocking(move || work(&stop_flag));
    if ends.cancelled.is_terminated() {
        stop.store(true, Ordering::Relaxed);
        return work.await.ok();
    }
    tokio::select! {
        biased;
        done = &mut work => return done.ok(),
        _ = &mut ends.cancelled => stop.store(true, Ordering::Relaxed),
    }
    work.await.ok()
}

fn aborted_exit() -> Exit {
    Exit::Failed("the action was aborted by an internal error".to_owned())
}
