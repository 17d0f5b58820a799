//! An ensemble that this process has locked. Journals and records can be written only through
//! [`LockedEnsemble`], so that the type system rules out writing without a lock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::job_journal::JobJournal;
use super::journal_file::{JournalFile, JournalFileError};
use super::manifest::Manifest;
use super::own_files::open_folder;
use super::publish::PublishError;
use super::record::Record;
use super::temporary_folder::remove_leftovers;
use crate::job::JobEvent;
use crate::lock::Lock;
use crate::system::{clock, fs};

/// An ensemble locked by this process. Dropping the value releases the lock.
///
/// Journals and records are written only through this type. Otherwise one process could record changes of an
/// ensemble while another process changes it.
#[derive(Debug)]
#[must_use = "dropping this value releases the lock"]
pub struct LockedEnsemble {
    lock: Lock,
    manifest: PathBuf,
}

/// An error while saving the record of a job.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Another user broke the lock after this process had taken it.
    #[error("the lock was broken while the job ran, so the job's record is not saved")]
    LockBroken,
    #[error(transparent)]
    Publish(#[from] PublishError),
}

impl LockedEnsemble {
    /// Combines a lock with the manifest of the ensemble that it protects.
    pub fn of(lock: Lock, manifest: &Path) -> Self {
        Self {
            lock,
            manifest: manifest.to_path_buf(),
        }
    }

    /// Returns the token that identifies the processes of the lock's owner.
    pub fn token(&self) -> &str {
        &self.lock.owner().token
    }

    /// Returns the journals of crashed jobs, oldest first, after removing unfinished temporary files of such
    /// jobs.
    ///
    /// # Errors
    ///
    /// The folder of the journals cannot be read.
    pub fn crashed_journals(&self, manifest: &Path) -> Result<Vec<PathBuf>, JournalFileError> {
        debug_assert!(self.is_of(manifest), "{}", manifest.display());
        remove_stale_files(manifest);
        remove_leftovers(manifest);
        JournalFile::list_for(manifest)
    }

    /// Creates the journal of a job and writes the start of the job durably.
    ///
    /// # Errors
    ///
    /// The journal cannot be written. An incomplete file is removed.
    pub fn begin_journal(
        &self,
        manifest: &Manifest,
        start: &JobEvent,
    ) -> Result<JobJournal, JournalFileError> {
        debug_assert!(self.is_of(manifest.path()), "{}", manifest.path().display());
        JobJournal::begin(manifest.path(), self.token(), start)
    }

    /// Checks that the lock is still held, so that the record of a later lock holder is not overwritten.
    ///
    /// # Errors
    ///
    /// [`RecordError::LockBroken`] if another user broke the lock.
    pub fn ensure_held(&self) -> Result<(), RecordError> {
        if self.lock.is_ours() {
            Ok(())
        } else {
            Err(RecordError::LockBroken)
        }
    }

    /// Saves a record. `ensemble.yaml` is written last, which makes the record valid.
    ///
    /// # Errors
    ///
    /// The lock was broken, or a file cannot be written. The ensemble then keeps its previous record.
    pub fn record(&self, record: &Record, manifest: &Manifest) -> Result<(), RecordError> {
        debug_assert!(self.is_of(manifest.path()), "{}", manifest.path().display());
        self.ensure_held()?;
        Ok(record.publish(manifest)?)
    }

    /// Whether a manifest path denotes this ensemble, also through symbolic links.
    fn is_of(&self, manifest: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        real(&self.manifest) == real(manifest)
    }
}

/// The age after which a temporary file is removed if no other sign shows that its writer has ended.
const STALE_FILE_AGE: Duration = Duration::from_hours(1);

/// Removes temporary files that a crashed writer left beside the files of a locked ensemble.
///
/// Several ensembles can share the folder. A temporary file of a shared file is removed only if a crash is
/// known or the file is old enough.
pub(super) fn remove_stale_files(manifest: &Path) {
    let Ok(base) = open_folder(manifest) else {
        return;
    };
    settle_exchanges(&base, manifest);
    let crashed = JournalFile::list_for(manifest).is_ok_and(|left| !left.is_empty());
    let name = manifest.file_name().unwrap_or_default().to_string_lossy();
    for folder in ["", "jobs", "changes", "local"] {
        let Ok(folder) = base.open_dir(Path::new(folder)) else {
            continue;
        };
        for entry in folder.list(Path::new("")).unwrap_or_default() {
            let is_file = entry.kind == fs::EntryKind::File;
            let Some((of, id)) = entry.name.rsplit_once(".tmp.").filter(|_| is_file) else {
                continue;
            };
            let Ok(id) = id.parse::<ulid::Ulid>() else {
                continue;
            };
            if fs::ExchangeName::parse(&entry.name).is_some() {
                // The file may hold a version that another program saved.
                continue;
            }
            // A temporary lock file may belong to a process that is waiting for the lock.
            let is_lock = of.strip_suffix(".lock").is_some();
            let is_own = of == name || of.strip_suffix(".owner.lock") == Some(&*name);
            if is_own || (crashed && !is_lock) || age(id) > STALE_FILE_AGE {
                // A temporary file that cannot be removed does no harm.
                folder.remove_file_if_exists(Path::new(&entry.name)).ok();
            }
        }
    }
}

/// Completes replacements of the manifest that a crash interrupted. A version that another program saved stays or
/// comes back.
fn settle_exchanges(base: &fs::Beneath, manifest: &Path) {
    let name = manifest.file_name().unwrap_or_default().to_string_lossy();
    for entry in base.list(Path::new("")).unwrap_or_default() {
        let exchange = fs::ExchangeName::parse(&entry.name);
        if exchange.is_some_and(|exchange| exchange.target() == name) {
            // A file that cannot be settled stays, so nothing is lost; the next job tries again.
            base.settle_exchange(Path::new(&entry.name)).ok();
        }
    }
}

fn age(id: ulid::Ulid) -> Duration {
    let now = u64::try_from(clock::now().as_millisecond()).unwrap_or_default();
    Duration::from_millis(now.saturating_sub(id.timestamp_ms()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_after(names: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write_plain(&folder.path().join(name), b"", None).unwrap();
        }
        remove_stale_files(&folder.path().join("ensemble.yaml"));
        let all = fs::walk(folder.path(), fs::WalkLimits::default()).unwrap();
        let files = all.iter().filter(|e| e.kind == fs::EntryKind::File);
        let paths = files.map(|e| e.path.strip_prefix(folder.path()).unwrap());
        paths.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_was_never_published_goes_and_nothing_else() {
        let new = ulid::Ulid::generate().to_string();
        let old = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let own = format!("ensemble.yaml.tmp.{new}");
        let other = format!("other.yaml.tmp.{new}");
        let owner = format!("ensemble.yaml.owner.lock.tmp.{new}");
        let shared = format!("jobs/job.yaml.tmp.{new}");
        let left = format!("changes/job.yaml.tmp.{old}");
        let names = [
            &*own,
            &other,
            &owner,
            &shared,
            &left,
            "a.tmp.txt",
            "ensemble.yaml",
        ];
        let kept = names_after(&names);
        assert_eq!(kept.len(), 4, "{kept:?}");
        for name in [&*other, &*shared, "a.tmp.txt", "ensemble.yaml"] {
            assert!(kept.iter().any(|k| k == name), "{name}: {kept:?}");
        }
        let journal = format!("jobs/{old}.journal");
        let kept = names_after(&[&shared, &journal]);
        assert_eq!(kept, [journal]);
    }
}
