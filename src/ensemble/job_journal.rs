//! The journal of a job: keeps its events on disk, so that a job that is cut off can be put on record
//! all the same.

use std::path::Path;

use super::entry::Entry;
use super::journal::{Journal, JournalError};
use crate::job::{self, Event};

/// The journal of a running job.
#[derive(Debug)]
pub struct JobJournal {
    journal: Journal,
    /// Tells the processes of this run from all others.
    token: String,
}

impl JobJournal {
    /// Begins a journal for the ensemble of a manifest, with the beginning of the job on disk.
    ///
    /// # Errors
    ///
    /// The journal cannot be written; nothing of it is left then.
    pub(super) fn begin(manifest: &Path, token: &str, start: &Event) -> Result<Self, JournalError> {
        let mut journal = Self {
            journal: Journal::begin(manifest)?,
            token: token.to_owned(),
        };
        let begun = journal.keep(&[start]);
        match begun.and_then(|()| journal.journal.sync()) {
            Ok(()) => Ok(journal),
            Err(error) => {
                // What there is of it tells nothing.
                journal.journal.remove().ok();
                Err(error)
            }
        }
    }

    /// Removes the journal: all that it holds is in the record.
    pub fn remove(self) -> Result<(), JournalError> {
        self.journal.remove()
    }

    fn keep(&mut self, events: &[&Event]) -> Result<(), JournalError> {
        let events = events.iter();
        let entries = events.filter_map(|event| Entry::of(event, &self.token));
        let entries: Vec<Entry> = entries.collect();
        if entries.is_empty() {
            return Ok(());
        }
        // What happened at once is one line, which is there as a whole or not at all.
        self.journal.append(&[entries])
    }
}

impl job::Journal for JobJournal {
    fn append(&mut self, events: &[Event]) -> Result<(), job::JournalError> {
        // The beginning of the job is on disk already.
        let events = events.iter();
        let rest: Vec<&Event> = events
            .filter(|event| !matches!(event, Event::JobStarted(_)))
            .collect();
        self.keep(&rest).map_err(|error| failed(&error))
    }

    fn sync(&mut self) -> Result<(), job::JournalError> {
        self.journal.sync().map_err(|error| failed(&error))
    }
}

fn failed(error: &JournalError) -> job::JournalError {
    job::JournalError {
        message: error.to_string(),
        hint: error.hint(),
    }
}
