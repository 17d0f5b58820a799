//! An ensemble whose lock this process holds: only such an ensemble takes journals and records.

use std::path::{Path, PathBuf};

use super::job_journal::JobJournal;
use super::journal::{Journal, JournalError};
use super::manifest::Manifest;
use super::publish::PublishError;
use super::record::Record;
use super::sweep::sweep;
use crate::job::Event;
use crate::lock::Lock;

/// An ensemble that is locked for this process. The lock is freed with this value.
///
/// Journals and records are written through this type alone, so that nothing records what happened
/// in an ensemble that another process may change at the same time.
#[derive(Debug)]
#[must_use = "the lock is freed with this value"]
pub struct LockedEnsemble {
    lock: Lock,
    manifest: PathBuf,
}

/// An error in recording what a job did.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The lock was broken by somebody else since it was taken.
    #[error("the lock was broken while the job ran, so its record is not saved")]
    LockBroken,
    /// The record cannot be saved.
    #[error(transparent)]
    Publish(#[from] PublishError),
}

impl LockedEnsemble {
    /// The ensemble of a manifest with its lock.
    pub fn of(lock: Lock, manifest: &Path) -> Self {
        Self {
            lock,
            manifest: manifest.to_path_buf(),
        }
    }

    /// Tells the processes of this lock's holder from all others.
    pub fn token(&self) -> &str {
        &self.lock.owner().token
    }

    /// The journals of jobs that were cut off, oldest first. What such jobs left unfinished beside
    /// the record is removed.
    ///
    /// # Errors
    ///
    /// The folder of the journals cannot be read.
    pub fn journals_left(&self, manifest: &Path) -> Result<Vec<PathBuf>, JournalError> {
        debug_assert!(self.is_of(manifest), "{}", manifest.display());
        sweep(manifest);
        Journal::left_of(manifest)
    }

    /// Begins the journal of a job, with the beginning of the job on disk.
    ///
    /// # Errors
    ///
    /// The journal cannot be written; nothing of it is left then.
    pub fn begin_journal(
        &self,
        manifest: &Manifest,
        start: &Event,
    ) -> Result<JobJournal, JournalError> {
        debug_assert!(self.is_of(manifest.path()), "{}", manifest.path().display());
        JobJournal::begin(manifest.path(), self.token(), start)
    }

    /// Fails if somebody broke the lock: a record must not be saved over that of a later holder.
    ///
    /// # Errors
    ///
    /// [`RecordError::LockBroken`].
    pub fn ensure_held(&self) -> Result<(), RecordError> {
        if self.lock.is_ours() {
            Ok(())
        } else {
            Err(RecordError::LockBroken)
        }
    }

    /// Saves a record, `ensemble.yaml` last.
    ///
    /// # Errors
    ///
    /// The lock was broken, or a file cannot be written. Nothing of the record counts as saved then.
    pub fn record(&self, record: &Record, manifest: &Manifest) -> Result<(), RecordError> {
        debug_assert!(self.is_of(manifest.path()), "{}", manifest.path().display());
        self.ensure_held()?;
        Ok(record.publish(manifest)?)
    }

    /// Whether a manifest is that of this ensemble, by whatever links it is found.
    fn is_of(&self, manifest: &Path) -> bool {
        let real = |path: &Path| crate::system::fs::canonicalize(path).ok();
        real(&self.manifest) == real(manifest)
    }
}
