//! The loop: starts what is ready, waits for what runs, until nothing is left.

use std::collections::{HashMap, HashSet, VecDeque};

use super::engine::Engine;
use super::error::Error;
use super::event::{Event, Journal, Level, Sink};
use super::start::Next;
use super::task::TaskIndex;
use super::world::{Folders, Runner};
use crate::host::Note;
use crate::name::Status;
use crate::plan::StepId;
use crate::task::{Effect, EffectResult};
use crate::value::Handle;

/// How many events of tasks without effects are held back before they are made durable and told.
const MOST_EVENTS_HELD: usize = 500;

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

/// Runs a rendered plan to its end.
pub fn run(engine: &mut Engine, hands: &mut Hands<'_>) -> Result<(), Error> {
    // Upstream forgets what it skipped once anything runs.
    engine.work.clear();
    engine.build_queue();
    let id = engine.id()?.to_string();
    let workflow = engine.options.goal.workflow.to_string();
    engine.events.push(Event::JobStarted {
        id,
        workflow,
        steps: engine.queue.left(),
    });
    let mut work = Loop::default();
    let result = work.turn_until_done(engine, hands);
    if let Err(error) = result {
        work.end_what_runs(engine, hands, &error);
        engine.abandon_rest()?;
        return Err(error);
    }
    engine.abandon_rest()?;
    let (id, status) = (engine.id()?.to_string(), engine.status().as_str());
    engine.events.push(Event::JobFinished { id, status });
    settle_folders(engine, hands);
    publish(engine, hands)
}

/// Makes events durable, then lets the sinks hear them.
fn publish(engine: &mut Engine, hands: &mut Hands<'_>) -> Result<(), Error> {
    let events = engine.take_events();
    if events.is_empty() {
        return Ok(());
    }
    hands.journal.append(engine, &events)?;
    hands.journal.sync()?;
    for event in &events {
        for sink in &mut hands.sinks {
            sink.event(event);
        }
    }
    Ok(())
}

/// Moves the files of each task to where they belong after it.
fn settle_folders(engine: &mut Engine, hands: &mut Hands<'_>) {
    if engine.options.goal.dry_run || !hands.folders.has_any() {
        return;
    }
    for place in 0..engine.work.len() {
        let index = engine.work[place];
        let key = engine.folder_key(index);
        let task = &engine.tasks[index];
        let result = match (task.status, task.id) {
            (Some(Status::Ok), _) => hands.folders.activate(&key),
            (Some(_), Some(id)) if !task.folders.is_empty() => {
                hands.folders.fail(&key, id.as_str())
            }
            _ => Ok(()),
        };
        if let Err(error) = result {
            let label = engine.label(index);
            engine.say(
                Level::Error,
                format!("{label}: its files cannot be moved: {error}"),
            );
        }
    }
    if let Err(error) = hands.folders.sync() {
        let text = format!("the files of tasks may not be durable: {error}");
        engine.say(Level::Warning, text);
    }
}

/// The first few names of many.
fn some_of(names: &[String]) -> String {
    const MOST: usize = 5;
    let shown = names[..names.len().min(MOST)].join(", ");
    match names.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[derive(Debug, Default)]
struct Loop {
    running: HashMap<u64, TaskIndex>,
    effects: VecDeque<(TaskIndex, Box<Effect>)>,
    busy: HashSet<Handle>,
    keys: HashMap<TaskIndex, Handle>,
    held: HashMap<Handle, VecDeque<StepId>>,
    free: VecDeque<StepId>,
}

impl Loop {
    fn turn_until_done(&mut self, engine: &mut Engine, hands: &mut Hands<'_>) -> Result<(), Error> {
        loop {
            self.heed_interruption(engine, hands);
            self.start_ready(engine, hands)?;
            // What ended is on record, and what starts is announced, before anything is awaited.
            publish(engine, hands)?;
            while let Some((task, effect)) = self.effects.pop_front() {
                self.running.insert(task as u64, task);
                let request = engine.request(*effect);
                let begun = hands.runner.begin(task as u64, request);
                begun.map_err(Error::Runner)?;
            }
            if !self.running.is_empty() {
                let ended = hands.runner.next().map_err(Error::Runner)?;
                for (id, note) in hands.runner.notes() {
                    if let Some(task) = self.running.get(&id) {
                        let (level, note) = match note {
                            Note::Told(note) => (Level::Info, note),
                            Note::Routine(note) => (Level::Verbose, note),
                        };
                        let text = format!("{}: {note}", engine.label(*task));
                        engine.say(level, text);
                    }
                }
                let ended = ended.and_then(|(id, it)| Some((self.running.remove(&id)?, it)));
                if let Some((task, result)) = ended {
                    let next = engine.proceed(task, Some(EffectResult::Action(result)))?;
                    self.take(engine, task, next);
                }
                continue;
            }
            if engine.aborted.is_some() || !self.release_stragglers(engine)? {
                return Ok(());
            }
        }
    }

    /// After an error what runs is ended, and its end is taken into the record.
    fn end_what_runs(&mut self, engine: &mut Engine, hands: &mut Hands<'_>, error: &Error) {
        engine.aborted = Some(error.to_string());
        hands.runner.cancel();
        while !self.running.is_empty() {
            let Ok(ended) = hands.runner.next() else {
                return;
            };
            let ended = ended.and_then(|(id, it)| Some((self.running.remove(&id)?, it)));
            if let Some((task, result)) = ended {
                // What else it asks for is not done any more.
                engine
                    .proceed(task, Some(EffectResult::Action(result)))
                    .ok();
            }
        }
    }

    /// After a signal nothing new starts; what runs may end in time, and is recorded as it ended.
    fn heed_interruption(&self, engine: &mut Engine, hands: &Hands<'_>) {
        let Some(signal) = hands.runner.interrupted() else {
            return;
        };
        if engine.interrupted.is_some() {
            return;
        }
        engine.interrupted = Some(signal);
        let why = "interrupted: no further task is started";
        engine.aborted.get_or_insert_with(|| why.to_owned());
        let started = self.effects.iter().map(|(task, _)| *task);
        let mut running: Vec<_> = self.running.values().copied().chain(started).collect();
        running.sort_unstable();
        let text = if running.is_empty() {
            why.to_owned()
        } else {
            let patience = hands.runner.patience().as_secs_f32();
            let running: Vec<_> = running.iter().map(|task| engine.label(*task)).collect();
            format!(
                "{why}; what runs has {patience} s to end, a second signal kills it: {}",
                some_of(&running)
            )
        };
        engine.say(Level::Warning, text);
    }

    fn start_ready(&mut self, engine: &mut Engine, hands: &mut Hands<'_>) -> Result<(), Error> {
        let limit = engine.options.parallel.max(1);
        while engine.aborted.is_none() && self.running.len() + self.effects.len() < limit {
            if hands.runner.interrupted().is_some() && engine.interrupted.is_none() {
                self.heed_interruption(engine, hands);
                return Ok(());
            }
            if self.free.is_empty() && engine.is_turn_of_added() {
                engine.plan_added(hands.folders)?;
            }
            let Some(step) = self.free.pop_front().or_else(|| engine.queue.pop()) else {
                return Ok(());
            };
            let key = engine.exclusive_key(step).filter(|_| limit > 1);
            if let Some(key) = key
                && self.busy.contains(&key)
            {
                self.held.entry(key).or_default().push_back(step);
                continue;
            }
            let next = engine.start_step(step, hands.folders)?;
            if let (Next::Effect(task, _), Some(key)) = (&next, key) {
                self.busy.insert(key);
                self.keys.insert(engine.root_task(*task), key);
            }
            if let Some(task) = engine.task_of[step] {
                self.take(engine, task, next);
            }
            if engine.events.len() > MOST_EVENTS_HELD {
                publish(engine, hands)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, engine: &Engine, task: TaskIndex, next: Next) {
        match next {
            Next::Effect(task, effect) => self.effects.push_back((task, effect)),
            Next::Nothing => {
                let root = engine.root_task(task);
                if let Some(key) = self.keys.remove(&root) {
                    self.busy.remove(&key);
                    if let Some(held) = self.held.remove(&key) {
                        self.free.extend(held);
                    }
                }
            }
        }
    }

    /// When nothing runs and nothing is ready, what is left waits for itself: those that can go on
    /// with what there is. Says whether there is anything left.
    fn release_stragglers(&mut self, engine: &mut Engine) -> Result<bool, Error> {
        if engine.queue.has_ready() || !self.free.is_empty() {
            return Ok(true);
        }
        let Some(first) = engine.queue.queued().next() else {
            return Ok(false);
        };
        let left = engine.queue.queued();
        let going: Vec<_> = left.filter(|step| engine.can_go_on(*step)).collect();
        if going.is_empty() {
            engine.give_up(first)?;
        }
        for step in going {
            engine.release(step);
        }
        Ok(true)
    }
}

impl Engine {
    /// The task of the plan for which a subtask runs; a task of the plan itself.
    fn root_task(&self, task: TaskIndex) -> TaskIndex {
        let mut root = task;
        while let Some(parent) = self.tasks.get(root).and_then(|task| task.parent) {
            root = parent;
        }
        root
    }
}
