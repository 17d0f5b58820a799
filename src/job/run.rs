//! The loop: starts what is ready, waits for what runs, until nothing is left.

use super::drive::Progress;
use super::engine::Engine;
use super::error::Error;
use super::event::{Journal, Sink};
use super::world::{Folders, Runner};

/// Those a job works with.
pub struct Hands<'a> {
    /// Performs effects.
    pub runner: &'a mut dyn Runner,
    /// Keeps files.
    pub folders: &'a mut dyn Folders,
    /// Makes events durable.
    pub journal: &'a mut dyn Journal,
    /// Hear events.
    pub sinks: Vec<&'a mut dyn Sink>,
}

impl std::fmt::Debug for Hands<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hands")
    }
}

/// Runs a job that has begun to its end.
pub fn run(engine: &mut Engine, hands: &mut Hands<'_>) -> Result<(), Error> {
    if let Err(error) = turn_until_done(engine, hands) {
        end_what_runs(engine, hands, &error);
        engine.abandon_rest()?;
        return Err(error);
    }
    engine.end_run(hands.folders)?;
    publish(engine, hands)
}

/// Makes events durable, then lets the sinks hear them.
fn publish(engine: &mut Engine, hands: &mut Hands<'_>) -> Result<(), Error> {
    let events = engine.take_events();
    if events.is_empty() {
        return Ok(());
    }
    hands.journal.append(&events)?;
    hands.journal.sync()?;
    for event in &events {
        for sink in &mut hands.sinks {
            sink.event(event);
        }
    }
    Ok(())
}

fn turn_until_done(engine: &mut Engine, hands: &mut Hands<'_>) -> Result<(), Error> {
    loop {
        if let Some(signal) = hands.runner.interrupted() {
            engine.heed_interruption(signal, hands.runner.patience());
        }
        let runner = &*hands.runner;
        let progress = engine.start_ready(hands.folders, &|| runner.interrupted().is_some())?;
        // What ended is on record, and what starts is announced, before anything is awaited.
        publish(engine, hands)?;
        for (task, request) in engine.take_requests() {
            let begun = hands.runner.begin(task as u64, request);
            begun.map_err(Error::Runner)?;
        }
        match progress {
            Progress::More => continue,
            Progress::Ended => return Ok(()),
            Progress::Waits => {}
        }
        let ended = hands.runner.next().map_err(Error::Runner)?;
        for (id, note) in hands.runner.notes() {
            engine.note(task_of(id), note);
        }
        if let Some((id, result)) = ended {
            engine.complete(task_of(id), result)?;
        }
    }
}

/// The task that an action is for.
fn task_of(id: u64) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}

/// After an error what runs is ended, and its end is taken into the record.
fn end_what_runs(engine: &mut Engine, hands: &mut Hands<'_>, error: &Error) {
    engine.give_up_for(error);
    hands.runner.cancel();
    while engine.is_running() {
        let Ok(ended) = hands.runner.next() else {
            return;
        };
        if let Some((id, result)) = ended {
            engine.take_end(task_of(id), result);
        }
    }
}
