//! The errors of the local lock.

use std::path::{Path, PathBuf};

use super::owner::{LockOwner, describe_holder};
use crate::system::fs::{self, IrregularFile};
use crate::system::process_identity::Uncertainty;
use crate::text;

/// An error while acquiring or releasing a local lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("`{}` is locked by {}", lock.display(), describe_holder(*pid, owner.as_deref(), "another process"))]
    Held {
        lock: PathBuf,
        /// The process id in the lock file.
        pid: Option<u32>,
        /// The holder, if the owner file describes it.
        owner: Option<Box<LockOwner>>,
        /// The reason why the end of the holder cannot be proved, if it may have ended.
        uncertainty: Option<Uncertainty>,
    },
    /// This process already holds the lock.
    #[error("`{}` is already locked by this process", lock.display())]
    Ours { lock: PathBuf },
    /// The lock file contains no process id.
    #[error("the lock file `{}` contains no process id, so it is unknown whether its holder is still running", lock.display())]
    Unreadable { lock: PathBuf },
    /// The lock file or the owner file is no regular file.
    #[error("the lock of the ensemble cannot be read: {found}")]
    Irregular { lock: PathBuf, found: IrregularFile },
    /// The lock's holder changed repeatedly while its state was read.
    #[error("the holder of the lock `{}` changed repeatedly while the lock was read", lock.display())]
    Busy { lock: PathBuf },
    #[error(transparent)]
    File(#[from] fs::Error),
}

impl LockError {
    pub(super) fn held(lock: PathBuf, pid: Option<u32>, owner: Option<LockOwner>) -> Self {
        let owner = owner.map(Box::new);
        Self::Held {
            uncertainty: owner.as_ref().and_then(|it| it.process.uncertainty(&lock)),
            lock,
            pid,
            owner,
        }
    }

    /// Whether a later attempt may succeed.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Held { .. } | Self::Unreadable { .. } | Self::Busy { .. } => true,
            Self::Ours { .. } | Self::Irregular { .. } | Self::File(_) => false,
        }
    }

    /// Returns a hint on how to fix the problem, if there is one.
    pub fn hint(&self) -> Option<String> {
        self.hint_after("wait until that job has ended")
    }

    /// Returns a hint for a command that can wait for the lock.
    pub fn hint_with_timeout(&self) -> Option<String> {
        self.hint_after("wait until that job has ended, or use `--lock-timeout`")
    }

    /// Returns a hint that begins with a way to wait for the holder.
    fn hint_after(&self, wait: &str) -> Option<String> {
        match self {
            Self::Held {
                lock, uncertainty, ..
            } => {
                let reason = uncertainty.map_or_else(String::new, |uncertainty| {
                    format!("{uncertainty}, so its end cannot be proved here; ")
                });
                let command = break_command(&manifest_of(lock), true);
                Some(format!(
                    "{reason}{wait}; if you are sure that its process has ended, run {command}"
                ))
            }
            Self::Unreadable { lock } => {
                let command = break_command(&manifest_of(lock), false);
                Some(format!(
                    "{wait}; if you are sure that its process has ended, run {command}"
                ))
            }
            Self::Irregular { lock, found } => Some(removal_hint(found, &manifest_of(lock))),
            Self::Ours { .. } => Some(
                "check whether the external ensembles refer to each other in a cycle".to_owned(),
            ),
            Self::Busy { .. } => Some("try again".to_owned()),
            Self::File(error) => error.hint(),
        }
    }
}

/// Returns a hint on how to remove an entry in place of a file of a manifest's ensemble.
pub fn removal_hint(found: &IrregularFile, manifest: &Path) -> String {
    if found.is_filled_folder() {
        let path = found.path.to_string_lossy();
        let (from, to) = (
            text::quote_word(&path),
            text::quote_word(&format!("{path}.old")),
        );
        return format!("the folder is not empty: move it away with `mv {from} {to}`");
    }
    let command = break_command(manifest, true);
    format!("check that no job of this ensemble runs, then run {command}, which removes it")
}

/// Returns the command that breaks the lock of a manifest, in quotes.
pub(super) fn break_command(manifest: &Path, force: bool) -> String {
    let manifest = text::quote_word(&manifest.to_string_lossy());
    let force = if force { "--force " } else { "" };
    format!("`unfurl lock break {force}{manifest}`")
}

/// Returns the manifest of a lock file.
fn manifest_of(lock: &Path) -> PathBuf {
    lock.with_extension("")
}
