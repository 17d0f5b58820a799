//! Writes a running job's events to the journal file. If the process crashes, the next run rebuilds the
//! record from it (see `journal_recovery`).

use std::path::Path;

use super::journal_entry::JournalEntry;
use super::journal_file::{JournalFile, JournalFileError};
use crate::job::{self, JobEvent};

/// The open journal of a running job.
#[derive(Debug)]
pub struct JobJournal {
    journal: JournalFile,
    /// Identifies the processes of this run, so that a later run can find survivors.
    token: String,
}

impl JobJournal {
    /// Creates the journal for a manifest's ensemble and writes the start of the job durably.
    ///
    /// # Errors
    ///
    /// The journal cannot be written. An incomplete file is removed.
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
                // A journal without a complete first entry is of no use.
                journal.journal.remove().ok();
                Err(error)
            }
        }
    }

    /// Removes the journal, because the saved record now contains all its data.
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
        // Events of one batch share a line, so that after a crash either all of them are there or none.
        self.journal.append(&[entries])
    }
}

impl job::EventJournal for JobJournal {
    fn append(&mut self, events: &[JobEvent]) -> Result<(), job::JournalError> {
        // `begin` has already written the start of the job.
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
