//! The temporary folder of a job, in which expressions create files (`tempfile`).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::system::env;
use crate::system::fs::{self, Beneath, TemporaryDir};
use crate::value::hex;

/// A folder with mode 0700 that is created when it is first used, and removed when the job ends.
///
/// Its name tells which ensemble it belongs to, so that the next job removes what a killed job left.
#[derive(Debug)]
pub struct JobTemporaryFolder {
    path: PathBuf,
    created: Mutex<Option<(Beneath, TemporaryDir)>>,
}

impl JobTemporaryFolder {
    /// Chooses a folder for a job of an ensemble. Creates nothing.
    pub fn of_ensemble(manifest: &Path) -> Self {
        Self::with_prefix(&prefix(manifest))
    }

    /// Chooses a folder for a run that has no ensemble. Creates nothing.
    pub fn without_ensemble() -> Self {
        Self::with_prefix("unfurl-tasks-")
    }

    fn with_prefix(prefix: &str) -> Self {
        let name = format!("{prefix}{}", ulid::Ulid::generate());
        Self {
            path: env::temporary_dir().join(name),
            created: Mutex::default(),
        }
    }

    /// Returns the path of the folder, which may not exist yet.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the folder. The first call creates it.
    pub fn open(&self) -> Result<Beneath, fs::Error> {
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((folder, _)) = &*created {
            return Ok(folder.clone());
        }
        let temporary = TemporaryDir::create(self.path.clone())?;
        let folder = Beneath::open(&self.path)?;
        *created = Some((folder.clone(), temporary));
        Ok(folder)
    }
}

/// Removes the temporary folders that killed jobs of an ensemble left. The caller holds its lock.
pub(super) fn remove_leftovers(manifest: &Path) {
    let prefix = prefix(manifest);
    for entry in fs::list(&env::temporary_dir()).unwrap_or_default() {
        let is_folder = entry.kind == fs::EntryKind::Folder;
        let id = entry.name.strip_prefix(&prefix).filter(|_| is_folder);
        let is_left = id.is_some_and(|id| id.parse::<ulid::Ulid>().is_ok());
        if is_left && fs::is_own(&entry.path) {
            // A folder that cannot be removed does no harm.
            fs::remove_dir_all(&entry.path).ok();
        }
    }
}

/// Returns the start of the names of an ensemble's temporary folders.
fn prefix(manifest: &Path) -> String {
    let real = fs::canonicalize(manifest).unwrap_or_else(|_| manifest.to_owned());
    let digest = hex(&Sha256::digest(real.as_os_str().as_encoded_bytes()));
    format!("unfurl-job-{}-", &digest[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_exists_from_its_first_use_to_its_end() {
        let manifest = Path::new("/no/such/ensemble.yaml");
        let folder = JobTemporaryFolder::of_ensemble(manifest);
        let path = folder.path().to_owned();
        assert!(!fs::exists(&path));
        let inside = folder.open().unwrap();
        inside
            .write_plain(Path::new("a"), b"x", Some(0o600))
            .unwrap();
        assert_eq!(fs::mode_of(&path).unwrap(), 0o700);
        drop(folder);
        assert!(!fs::exists(&path));
    }

    #[test]
    fn what_a_killed_job_left_is_removed_by_the_next_one_of_the_ensemble() {
        let manifest = Path::new("/no/such/place/ensemble.yaml");
        let left = JobTemporaryFolder::of_ensemble(manifest);
        let other = JobTemporaryFolder::of_ensemble(Path::new("/no/such/other/ensemble.yaml"));
        for folder in [&left, &other] {
            drop(folder.open().unwrap());
        }
        remove_leftovers(manifest);
        assert!(!fs::exists(left.path()) && fs::exists(other.path()));
    }
}
