//! The main loop's operations: starting steps that are ready, issuing their effects, and handling
//! results.
//!
//! The driver (`exec`) calls these methods and performs the effects.

use std::collections::BTreeSet;
use std::time::Duration;

use super::engine::Engine;
use super::event::Error;
use super::event::{EventJournal, EventSink, JobEvent, JobFacts, LogLevel};
use super::options::Recording;
use super::ports::TaskFolders;
use super::schedule::Steps as _;
use super::start::NextEffect;
use super::task::TaskIndex;
use super::task_stage::TaskStage;
use crate::host::{Action, ActionRequest, ActionResult, ChainNote};
use crate::name::Status;
use crate::plan::StepId;
use crate::task::EffectResult;

/// The maximum number of buffered events of tasks without effects before they are published.
const MAX_BUFFERED_EVENTS: usize = 500;

/// The maximum number of task names in a message.
pub(super) const MAX_NAMES: usize = 5;

/// The state of a job after an attempt to start a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobProgress {
    /// A step was started, and more may be ready.
    Started,
    /// More steps can start once the events so far are durable.
    MoreReady,
    /// The job waits for running tasks.
    Waiting,
    Finished,
}

impl Engine {
    /// Starts the run of a rendered plan.
    pub fn begin_run(&mut self, recording: Recording, facts: JobFacts) -> Result<(), Error> {
        self.recording = recording;
        self.facts = facts;
        // Unfurl (Python) drops skipped tasks from the list as soon as tasks run.
        self.ledger.clear_list();
        let (scheduler, steps) = self.schedule();
        scheduler.build(&steps);
        // Changes made by planning are not recorded, because a resumed job plans again.
        self.topology_mut().take_touched();
        let event = JobEvent::JobStarted(Box::new(self.job_start()?));
        self.ledger.push(event);
        Ok(())
    }

    /// Starts the next step that is ready, within the limits.
    ///
    /// The effects of started steps are returned by [`Self::take_requests`]. Events before them must be
    /// durable by then.
    pub fn start_next(&mut self, folders: &mut dyn TaskFolders) -> Result<JobProgress, Error> {
        let limit = self.options.parallel.max(1);
        if self.ledger.aborted.is_none() && self.execution.count() < limit {
            if self.execution.exclusive.is_empty() && self.are_added_instances_due() {
                self.plan_added_instances(folders)?;
            }
            let next = self.execution.exclusive.pop();
            if let Some(step) = next.or_else(|| self.scheduler.pop()) {
                self.start_if_free(step, folders)?;
                let is_much = self.ledger.pending_events() > MAX_BUFFERED_EVENTS;
                return Ok(if is_much {
                    JobProgress::MoreReady
                } else {
                    JobProgress::Started
                });
            }
        }
        if self.execution.count() > 0 {
            return Ok(JobProgress::Waiting);
        }
        if self.ledger.aborted.is_some() || !self.release_stalled()? {
            return Ok(JobProgress::Finished);
        }
        Ok(JobProgress::MoreReady)
    }

    /// Starts a step, unless another step occupies its node.
    fn start_if_free(&mut self, step: StepId, folders: &mut dyn TaskFolders) -> Result<(), Error> {
        let is_parallel = self.options.parallel > 1;
        let key = || self.job_steps().exclusive_key(step);
        let key = is_parallel.then(key).flatten();
        if let Some(key) = key
            && self.execution.exclusive.wait_if_busy(key, step)
        {
            return Ok(());
        }
        let next = self.start_step(step, folders)?;
        if let (NextEffect::Perform(task, _), Some(key)) = (&next, key) {
            let root = self.ledger.root_task(*task);
            self.execution.exclusive.occupy(key, root);
        }
        if let Some(task) = self.steps.tasks[step] {
            self.queue_next(task, next);
        }
        Ok(())
    }

    fn queue_next(&mut self, task: TaskIndex, next: NextEffect) {
        match next {
            NextEffect::Perform(task, effect) => self.execution.effects.push_back((task, effect)),
            NextEffect::None => {
                let root = self.ledger.root_task(task);
                self.execution.exclusive.free(root);
            }
        }
    }

    /// Takes the effects to be performed now, each with the task that requested it.
    pub fn take_requests(&mut self) -> Vec<(TaskIndex, ActionRequest)> {
        let effects = std::mem::take(&mut self.execution.effects);
        let mut requests = Vec::with_capacity(effects.len());
        for (task, effect) in effects {
            self.execution.running.insert(task);
            let mut request = self.evaluation().request(*effect);
            let secrets = self.secrets_of_job(task);
            if let Action::Run(command) = &mut request.action
                && !secrets.is_empty()
            {
                command.secrets.append(secrets);
            }
            requests.push((task, request));
        }
        requests
    }

    /// Handles the result of a task's effect.
    pub fn complete(&mut self, task: TaskIndex, mut result: ActionResult) -> Result<(), Error> {
        if self.execution.running.remove(&task) {
            // A command was given the secrets; the executor of changes was not.
            if matches!(result, ActionResult::Change(_)) {
                result.hide(self.secrets_of_job(task));
            }
            let next = self.proceed(task, Some(EffectResult::Action(result)))?;
            self.queue_next(task, next);
        }
        Ok(())
    }

    /// Handles a line that the command of a task wrote.
    pub fn receive_line(&mut self, task: TaskIndex, line: &str) {
        if !self.execution.running.contains(&task) {
            return;
        }
        let record = &mut self.ledger.tasks[task];
        let TaskStage::Running(running) = &mut record.stage else {
            return;
        };
        let Some(progress) = running.run.as_mut().and_then(|run| run.progress(line)) else {
            return;
        };
        let level = if progress.is_detail {
            LogLevel::Verbose
        } else {
            LogLevel::Info
        };
        let text = format!("{}: {}", self.label(task), progress.message);
        self.log(level, text);
        if progress.is_durable {
            self.ledger.push(JobEvent::TaskProgress {
                // Records count tasks from 1.
                task: task.saturating_add(1),
                message: progress.message,
            });
        }
    }

    /// Logs a note about a task's effect.
    pub fn note(&mut self, task: TaskIndex, note: ChainNote) {
        if !self.execution.running.contains(&task) {
            return;
        }
        let (level, note) = match note {
            ChainNote::Notice(note) => (LogLevel::Info, note),
            ChainNote::Detail(note) => (LogLevel::Verbose, note),
        };
        let text = format!("{}: {note}", self.label(task));
        self.log(level, text);
    }

    /// Handles a signal: no further step starts. Running tasks have the grace period to end and are
    /// recorded as they ended.
    pub fn handle_interrupt(&mut self, signal: i32, grace: Duration) {
        if self.ledger.interrupted.is_some() {
            return;
        }
        self.ledger.interrupted = Some(signal);
        let why = "interrupted: no further task is started";
        self.ledger.aborted.get_or_insert_with(|| why.to_owned());
        let started = self.execution.effects.iter().map(|(task, _)| *task);
        let mut running: BTreeSet<TaskIndex> = started.collect();
        running.extend(&self.execution.running);
        let text = if running.is_empty() {
            why.to_owned()
        } else {
            let grace = grace.as_secs_f32();
            let running: Vec<_> = running.iter().map(|task| self.label(*task)).collect();
            format!(
                "{why}; running tasks have {grace} s to end, a second signal kills them: {}",
                first_names(&running)
            )
        };
        self.log(LogLevel::Warning, text);
    }

    /// Gives up the job after an error. Running tasks are to be ended, and their results passed to
    /// [`Self::complete_aborted`].
    pub fn abort(&mut self, error: &Error) {
        self.ledger.aborted = Some(error.to_string());
        self.execution.effects.clear();
    }

    /// Handles the result of an effect after the job was given up. Further effects of its task are not
    /// performed.
    pub fn complete_aborted(&mut self, task: TaskIndex, result: ActionResult) {
        if self.execution.running.remove(&task) {
            self.proceed(task, Some(EffectResult::Action(result))).ok();
        }
    }

    /// Ends a job in which no task runs any more. Tasks that never ran are recorded as such.
    pub fn end_run(&mut self, folders: &mut dyn TaskFolders) -> Result<(), Error> {
        self.finish_unstarted()?;
        for record in self.complete_records() {
            self.ledger.push(JobEvent::TaskAmended(record));
        }
        let (id, status) = (self.id()?, self.status().as_str());
        self.ledger.push(JobEvent::JobFinished { id, status });
        self.settle_folders(folders);
        Ok(())
    }

    /// Resolves a stall, in which no task runs and no step is ready because the remaining steps wait for
    /// each other.
    ///
    /// Steps that can run with the current values are released. Returns whether any step is left.
    fn release_stalled(&mut self) -> Result<bool, Error> {
        if self.scheduler.has_ready() || !self.execution.exclusive.is_empty() {
            return Ok(true);
        }
        let left: Vec<StepId> = self.scheduler.queued().collect();
        let Some(first) = left.first() else {
            return Ok(false);
        };
        let ready: Vec<StepId> = left
            .iter()
            .copied()
            .filter(|step| self.can_proceed(*step))
            .collect();
        if ready.is_empty() {
            self.finish_stalled(*first)?;
        }
        for step in ready {
            self.scheduler.release(step);
        }
        Ok(true)
    }

    /// Moves the files of each task to their final folder.
    fn settle_folders(&mut self, folders: &mut dyn TaskFolders) {
        if self.options.goal.dry_run || !folders.has_any() {
            return;
        }
        for place in 0..self.ledger.listed_order.len() {
            let index = self.ledger.listed_order[place];
            let key = self.folder_key(index);
            let task = &self.ledger.tasks[index];
            let result = match task.finished() {
                Some(finished) if finished.status() == Status::Ok => folders.activate(&key),
                Some(finished) if !task.folders.is_empty() => {
                    folders.fail(&key, finished.id.as_str())
                }
                _ => Ok(()),
            };
            if let Err(error) = result {
                let label = self.label(index);
                self.log(
                    LogLevel::Error,
                    format!("{label}: its files cannot be moved: {error}"),
                );
            }
        }
        if let Err(error) = folders.sync() {
            let text = format!("the files of tasks may be lost if the power fails: {error}");
            self.log(LogLevel::Warning, text);
        }
    }
}

/// Joins the first few names and states how many are left out.
pub(super) fn first_names(names: &[String]) -> String {
    let shown = names[..names.len().min(MAX_NAMES)].join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The ports through which a running job stores files and events.
pub struct JobPorts<'a> {
    pub folders: &'a mut dyn TaskFolders,
    pub journal: &'a mut dyn EventJournal,
    /// Observers of events, which see them after the journal.
    pub sinks: Vec<&'a mut dyn EventSink>,
}

impl std::fmt::Debug for JobPorts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ports")
    }
}

impl JobPorts<'_> {
    /// Makes the events of a job durable, then passes them to the sinks.
    pub fn publish(&mut self, engine: &mut Engine) -> Result<(), Error> {
        let events = engine.take_events();
        if events.is_empty() {
            return Ok(());
        }
        self.journal.append(&events)?;
        self.journal.sync()?;
        for event in &events {
            for sink in &mut self.sinks {
                sink.event(event);
            }
        }
        Ok(())
    }
}
