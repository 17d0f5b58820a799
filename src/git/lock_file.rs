//! Lock files of git (`index.lock` and the like) that this program creates.
//!
//! Such a lock file names the process that holds it, and has its name only once this content is durable. Another
//! process of this program can therefore remove it, and no other, if the holder has provably ended. Git never reads
//! lock files of others.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Error;
use crate::system::fs;
use crate::system::lockfile::LockFile;
use crate::system::process_identity::{ProcessIdentity, ProcessState};

/// The time to wait for a lock that another process holds. Git holds its locks for milliseconds.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The interval for trying again.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The content of a lock file of this program.
#[derive(Debug, Serialize, Deserialize)]
struct LockContent {
    /// The process that holds the lock.
    unfurl: ProcessIdentity,
}

/// A lock file of git that this process holds. Dropping the value removes the file.
#[derive(Debug)]
pub(super) struct GitLock {
    file: Option<LockFile>,
    path: PathBuf,
}

impl GitLock {
    /// Creates the lock file. Waits for up to five seconds if another process holds the lock.
    ///
    /// # Errors
    ///
    /// The lock file still exists, or cannot be created.
    pub(super) fn acquire(path: &Path, root: &Path) -> Result<Self, Error> {
        let content = LockContent {
            unfurl: ProcessIdentity::of_this_process(),
        };
        let content = serde_json::to_string(&content).map_err(std::io::Error::other);
        let failed = |source| fs::Error::new(fs::FileAction::Lock, path, source);
        let content = content.map_err(failed)? + "\n";
        if let Some(folder) = path.parent() {
            fs::create_dirs_like_parent(folder)?;
        }
        let end = Instant::now() + MAX_WAIT;
        loop {
            if let Some(file) = LockFile::create(path, content.as_bytes())? {
                return Ok(Self {
                    file: Some(file),
                    path: path.to_owned(),
                });
            }
            if remove_abandoned_lock(path)? {
                continue;
            }
            if Instant::now() >= end {
                return Err(Error::Locked {
                    path: root.to_owned(),
                    lock: path.to_owned(),
                });
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Removes the lock file durably.
    pub(super) fn release(mut self) -> Result<(), fs::Error> {
        match self.file.take() {
            Some(file) => file.remove()?,
            None => false,
        };
        fs::sync_parent(&self.path)
    }
}

impl Drop for GitLock {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // The next process that needs the lock removes what stays here.
            file.remove().ok();
        }
    }
}

/// Removes a lock file whose holder, a process of this program, has provably ended. Returns whether there is none
/// at the path now.
pub(super) fn remove_abandoned_lock(path: &Path) -> Result<bool, Error> {
    let mut file = match LockFile::open(path) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(true),
        Err(_) => return Ok(false),
    };
    if file.is_held_by_another() {
        return Ok(false);
    }
    let content = file.content().unwrap_or_default();
    let Ok(content) = serde_json::from_slice::<LockContent>(&content) else {
        return Ok(false);
    };
    if content.unfurl.state(path) != ProcessState::Ended || !file.is_current() {
        return Ok(false);
    }
    file.remove()?;
    fs::sync_parent(path)?;
    Ok(true)
}

/// Returns the path of git's lock file for a file.
pub(super) fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_by(owner: &ProcessIdentity, path: &Path) {
        let text = serde_json::json!({ "unfurl": owner }).to_string();
        fs::write_plain(path, text.as_bytes(), None).unwrap();
    }

    #[test]
    fn only_the_lock_of_a_process_that_has_ended_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.lock");
        let own = ProcessIdentity::of_this_process();
        let ended = ProcessIdentity {
            start_time: Some(1),
            ..own.clone()
        };
        let elsewhere = ProcessIdentity {
            host: "elsewhere".to_owned(),
            ..ended.clone()
        };
        for owner in [&own, &elsewhere] {
            left_by(owner, &path);
            assert!(!remove_abandoned_lock(&path).unwrap(), "{owner:?}");
        }
        for text in ["", "{}", "DIRC"] {
            fs::write_plain(&path, text.as_bytes(), None).unwrap();
            assert!(!remove_abandoned_lock(&path).unwrap(), "{text}");
        }
        left_by(&ended, &path);
        assert!(remove_abandoned_lock(&path).unwrap());
        assert!(!fs::exists(&path));
        left_by(&ended, &path);
        let lock = GitLock::acquire(&path, folder.path()).unwrap();
        assert!(!remove_abandoned_lock(&path).unwrap());
        lock.release().unwrap();
        assert!(!fs::exists(&path));
    }
}
