//! Runs jobs: joins the engine of a job to the loop of the driver.
//!
//! [`run_job`] starts tasks that are ready, waits for results and publishes records and events.

use std::collections::VecDeque;
use std::time::Duration;

use super::action_runner::Error;
use super::driver::{Driver, MachineStep, OnInterrupt, StateMachine, drive};
use crate::host::{ActionRequest, ActionResult, ChainNote, Stream};
use crate::job::{self, Engine, JobPorts, JobProgress, TaskIndex};

/// Runs a started job to its end.
pub fn run_job(
    engine: &mut Engine,
    ports: &mut JobPorts<'_>,
    driver: &mut Driver,
) -> Result<(), job::Error> {
    let grace = match driver.on_interrupt() {
        OnInterrupt::Grace(time) => time,
        OnInterrupt::Cancel => Duration::ZERO,
    };
    let mut run = JobRun {
        engine,
        ports,
        requests: VecDeque::new(),
        progress: None,
        grace,
    };
    if let Err(error) = drive(&mut run, driver, &mut ()) {
        end_running_actions(engine, driver, &error);
        engine.finish_unstarted()?;
        return Err(error);
    }
    engine.end_run(ports.folders)?;
    ports.publish(engine)
}

/// Cancels the running actions after an error and records how they ended.
fn end_running_actions(engine: &mut Engine, driver: &mut Driver, error: &job::Error) {
    engine.abort(error);
    for (tag, result) in driver.end_all() {
        engine.complete_aborted(task_index(tag), result);
    }
}

/// Returns the index of the task that an action belongs to.
fn task_index(tag: u64) -> TaskIndex {
    usize::try_from(tag).unwrap_or(usize::MAX)
}

/// Returns the number of the task that an action belongs to, as in the records.
fn task_number(tag: u64) -> usize {
    task_index(tag).saturating_add(1)
}

/// A running job as a state machine.
struct JobRun<'a, 'p> {
    engine: &'a mut Engine,
    ports: &'a mut JobPorts<'p>,
    /// The actions that are ready to start.
    requests: VecDeque<(TaskIndex, ActionRequest)>,
    /// The next progress of the job, once all requests have started.
    progress: Option<JobProgress>,
    grace: Duration,
}

impl StateMachine for JobRun<'_, '_> {
    type View = ();
    type Error = job::Error;

    fn next(&mut self, _view: &mut ()) -> Result<MachineStep, job::Error> {
        if self.progress.is_none() {
            let progress = self.engine.start_next(self.ports.folders)?;
            if progress == JobProgress::Started {
                return Ok(MachineStep::Continue);
            }
            // Ended tasks are recorded and started tasks announced before any wait.
            self.ports.publish(self.engine)?;
            self.requests = self.engine.take_requests().into();
            self.progress = Some(progress);
        }
        if let Some((task, request)) = self.requests.pop_front() {
            return Ok(MachineStep::Perform(task as u64, Box::new(request)));
        }
        Ok(match self.progress.take() {
            Some(JobProgress::Finished) => MachineStep::End,
            Some(JobProgress::Waiting) => MachineStep::Wait(None),
            Some(JobProgress::Started | JobProgress::MoreReady) | None => MachineStep::Continue,
        })
    }

    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        _view: &mut (),
    ) -> Result<(), job::Error> {
        for sink in &mut self.ports.sinks {
            sink.output_ended(task_number(tag));
        }
        self.engine.complete(task_index(tag), result)
    }

    fn interrupt(&mut self, signal: i32) {
        self.engine.handle_interrupt(signal, self.grace);
    }

    fn note(&mut self, tag: u64, note: ChainNote, _view: &mut ()) {
        self.engine.note(task_index(tag), note);
    }

    fn line(&mut self, tag: u64, line: &str) {
        self.engine.receive_line(task_index(tag), line);
    }

    fn output(&mut self, tag: u64, (stream, bytes): (Stream, Vec<u8>), _view: &mut ()) {
        for sink in &mut self.ports.sinks {
            sink.output(task_number(tag), stream, &bytes);
        }
    }
}

impl From<Error> for job::Error {
    fn from(error: Error) -> Self {
        Self::Runner(error.to_string())
    }
}
