//! The journal of a job: keeps its events on disk, so that a job that is cut off can be put on record
//! all the same.

use std::path::Path;

use super::journal_entry::JournalEntry;
use super::journal_file::{JournalFile, JournalFileError};
use crate::job::{self, JobEvent};

/// The journal of a running job.
#[derive(Debug)]
pub struct JobJournal {
    journal: JournalFile,
    /// Tells the processes of this run from all others.
    token: String,
}

impl JobJournal {
    /// Begins a journal for the ensemble of a manifest, with the beginning of the job on disk.
    ///
    /// # Errors
    ///
    /// The journal cannot be written; nothing of it is left then.
    pub(super) fn begin(
        manifest: &Path,
        token: &str,
        start: &JobEvent,
    ) -> Result<Self, JournalFileError> {
        let mut journal = Self {
            journal: JournalFile::create(manifest)?,
            token: token.to_owned(),
        };
        let written = journal.append_entries(&[start]);
        match written.and_then(|()| journal.journal.sync()) {
            Ok(()) => Ok(journal),
            Err(error) => {
                // What there is of it tells nothing.
                journal.journal.remove().ok();
                Err(error)
            }
        }
    }

    /// Removes the journal: all that it holds is in the record.
    pub fn remove(self) -> Result<(), JournalFileError> {
        self.journal.remove()
    }

    fn append_entries(&mut self, events: &[&JobEvent]) -> Result<(), JournalFileError> {
        let events = events.iter();
        let entries = events.filter_map(|event| JournalEntry::of(event, &self.token));
        let entries: Vec<JournalEntry> = entries.collect();
        if entries.is_empty() {
            return Ok(());
        }
        // What happened at once is one line, which is there as a whole or not at all.
        self.journal.append(&[entries])
    }
}

impl job::EventJournal for JobJournal {
    fn append(&mut self, events: &[JobEvent]) -> Result<(), job::JournalError> {
        // The beginning of the job is on disk already.
        let events = events.iter();
        let rest: Vec<&JobEvent> = events
            .filter(|event| !matches!(event, JobEvent::JobStarted(_)))
            .collect();
        self.append_entries(&rest).map_err(|error| failed(&error))
    }

    fn sync(&mut self) -> Result<(), job::JournalError> {
        self.journal.sync().map_err(|error| failed(&error))
    }
}

fn failed(error: &JournalFileError) -> job::JournalError {
    job::JournalError {
        message: error.to_string(),
        hint: error.hint(),
    }
}
