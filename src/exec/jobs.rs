//! Runs jobs: starts what is ready, waits for what runs, until nothing is left.

use std::collections::VecDeque;
use std::time::Duration;

use super::driver::{Driver, Machine, Next, OnInterrupt, drive};
use super::perform::Error;
use crate::host::{ActionResult, Note, Request};
use crate::job::{self, Engine, Ports, Progress, TaskIndex};

/// Runs a job that has begun to its end.
pub fn run_job(
    engine: &mut Engine,
    ports: &mut Ports<'_>,
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
        end_what_runs(engine, driver, &error);
        engine.abandon_rest()?;
        return Err(error);
    }
    engine.end_run(ports.folders)?;
    ports.publish(engine)
}

/// After an error what runs is ended, and its end is taken into the record.
fn end_what_runs(engine: &mut Engine, driver: &mut Driver, error: &job::Error) {
    engine.give_up_for(error);
    for (tag, result) in driver.end_all() {
        engine.take_end(task_of(tag), result);
    }
}

/// The task that an action is for.
fn task_of(tag: u64) -> TaskIndex {
    usize::try_from(tag).unwrap_or(usize::MAX)
}

/// A job that runs.
struct JobRun<'a, 'p> {
    engine: &'a mut Engine,
    ports: &'a mut Ports<'p>,
    /// The effects that are to begin.
    requests: VecDeque<(TaskIndex, Request)>,
    /// How the job goes on once they have begun.
    progress: Option<Progress>,
    grace: Duration,
}

impl Machine for JobRun<'_, '_> {
    type View = ();
    type Error = job::Error;

    fn next(&mut self, _view: &mut ()) -> Result<Next, job::Error> {
        if self.progress.is_none() {
            let progress = self.engine.start_next(self.ports.folders)?;
            if progress == Progress::Started {
                return Ok(Next::Again);
            }
            // What ended is on record, and what starts is announced, before anything is awaited.
            self.ports.publish(self.engine)?;
            self.requests = self.engine.take_requests().into();
            self.progress = Some(progress);
        }
        if let Some((task, request)) = self.requests.pop_front() {
            return Ok(Next::Perform(task as u64, Box::new(request)));
        }
        Ok(match self.progress.take() {
            Some(Progress::Ended) => Next::End,
            Some(Progress::Waits) => Next::Wait(None),
            Some(Progress::Started | Progress::More) | None => Next::Again,
        })
    }

    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        _view: &mut (),
    ) -> Result<(), job::Error> {
        self.engine.complete(task_of(tag), result)
    }

    fn interrupt(&mut self, signal: i32) {
        self.engine.heed_interruption(signal, self.grace);
    }

    fn note(&mut self, tag: u64, note: Note, _view: &mut ()) {
        self.engine.note(task_of(tag), note);
    }
}

impl From<Error> for job::Error {
    fn from(error: Error) -> Self {
        Self::Runner(error.to_string())
    }
}
