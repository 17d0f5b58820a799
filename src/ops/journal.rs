//! The journal of a job: tells on disk what the job does, entry by entry, so that a job that is cut
//! off can be put on record all the same.

use std::path::Path;

use super::failure::{Failure, FailureKind};
use crate::ensemble::{
    self, Began, Ended, Entry, InstanceState, Journal, Started, intent_record, is_committed,
    task_record,
};
use crate::job::{Engine, Event, JournalError, TaskIndex};
use crate::name::Status;
use crate::value::{Map, Value};
use crate::yaml;

/// The journal of an ensemble.
#[derive(Debug)]
pub(super) struct JobJournal {
    journal: Journal,
    /// How many templates that tasks have added are told.
    templates: usize,
}

impl JobJournal {
    /// Begins a journal for the ensemble of a manifest with what it says of the job first. A job
    /// whose journal cannot be written is refused before it does anything.
    pub(super) fn begin(manifest: &Path, began: Began) -> Result<Self, Failure> {
        let journal = begun(manifest, began).map_err(|error| {
            let message =
                format!("nothing was done, for the job's journal cannot be written: {error}");
            Failure::new(FailureKind::Refused, message, error.hint())
        })?;
        Ok(Self {
            journal,
            templates: 0,
        })
    }

    /// Removes the journal: all that it holds is in the record.
    pub(super) fn remove(self) -> Result<(), String> {
        self.journal.remove().map_err(|error| error.to_string())
    }

    fn entries(&mut self, job: &mut Engine, events: &[Event]) -> Vec<Entry> {
        let mut entries = Vec::new();
        for event in events {
            match event {
                Event::TaskStarted { task, .. } => entries.push(started(job, task - 1)),
                Event::TaskFinished(finished) => entries.push(ended(job, finished.task - 1)),
                Event::JobFinished { status, .. } => entries.push(Entry::Finished {
                    status: (*status).to_owned(),
                }),
                Event::JobStarted { .. } | Event::Message { .. } | Event::Problem(_) => {}
            }
        }
        if entries.is_empty() {
            return entries;
        }
        let added = job.discovered().iter().skip(self.templates);
        entries.extend(added.map(|(name, template)| Entry::Template {
            name: name.to_string(),
            text: yaml::emit(&template.redacted(), 0),
        }));
        self.templates = job.discovered().len();
        let groups = job.take_settled_groups();
        if !groups.is_empty() {
            entries.push(Entry::Settled { groups });
        }
        for node in job.take_touched() {
            entries.push(Entry::Instance(InstanceState {
                route: ensemble::route_to(&job.topology, node),
                record: ensemble::snapshot(&job.topology, node).map(|record| text_of(&record)),
            }));
        }
        entries
    }
}

impl crate::job::Journal for JobJournal {
    fn append(&mut self, job: &mut Engine, events: &[Event]) -> Result<(), JournalError> {
        let entries = self.entries(job, events);
        if entries.is_empty() {
            return Ok(());
        }
        // What happened at once is one line, which is there as a whole or not at all.
        self.journal
            .append(&[entries])
            .map_err(|error| failed(&error))
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.journal.sync().map_err(|error| failed(&error))
    }
}

/// A journal that says on disk which job it is about.
fn begun(manifest: &Path, began: Began) -> Result<Journal, ensemble::JournalError> {
    let mut journal = Journal::begin(manifest)?;
    let told = journal.append(&[[Entry::Began(Box::new(began))]]);
    match told.and_then(|()| journal.sync()) {
        Ok(()) => Ok(journal),
        Err(error) => {
            // What there is of it tells nothing.
            journal.remove().ok();
            Err(error)
        }
    }
}

fn failed(error: &ensemble::JournalError) -> JournalError {
    JournalError {
        message: error.to_string(),
        hint: error.hint(),
    }
}

fn text_of(record: &Map) -> String {
    yaml::emit(&Value::from(record.clone()).redacted(), 0)
}

fn folder_of(job: &Engine, index: TaskIndex) -> (String, String) {
    let key = job.folder_key(index);
    (key.instance, key.operation)
}

fn started(job: &Engine, index: TaskIndex) -> Entry {
    let task = job.task(index);
    let turn = job.instance_of_turn(task);
    Entry::Started(Started {
        task: index + 1,
        target: job.topology.whole_key(task.spec.target),
        operation: task.spec.reference.to_string(),
        turn: job.turn_of(task),
        route: turn.map_or_else(Vec::new, |of| ensemble::route_to(&job.topology, of)),
        folder: folder_of(job, index),
        record: text_of(&intent_record(job, task)),
    })
}

fn ended(job: &mut Engine, index: TaskIndex) -> Entry {
    job.get_digest_key_for(index);
    let job = &*job;
    let task = job.task(index);
    let turn = job.instance_of_turn(task);
    let group = task.spec.group;
    Entry::Ended(Box::new(Ended {
        task: index + 1,
        target: job.topology.whole_key(task.spec.target),
        operation: task.spec.reference.to_string(),
        folder: folder_of(job, index),
        record: text_of(&task_record(job, task)),
        success: task.status() == Some(Status::Ok),
        changed: task.has_changed(),
        committed: is_committed(task),
        skipped: task.finished().is_none(),
        group,
        workflow: group.map(|group| job.plan.groups[group].workflow.to_string()),
        turn: job.turn_of(task),
        route: turn.map_or_else(Vec::new, |of| ensemble::route_to(&job.topology, of)),
        number: job.last_number(),
    }))
}
