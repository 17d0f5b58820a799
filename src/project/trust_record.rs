//! The folders that the user has trusted, as the home project keeps them in `local/trust.yaml`.
//!
//! Only [`TrustStore`] writes the file. An entry names the folder with its identity, so that a folder that
//! somebody puts in its place is not trusted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::git::Repository;
use crate::system::fs::{self, FileIdentity};
use crate::system::lockfile::LockFile;
use crate::system::{clock, machine, user};
use crate::text::without_logins;

/// The file of the home project that holds the entries.
const STORE_FILE: &str = "local/trust.yaml";
/// The maximum size of the file.
const MAX_STORE_BYTES: u64 = 4 << 20;
/// The longest wait for another process that changes the file.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// The event that made an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustReason {
    /// The user ran `unfurl trust`.
    Granted,
    /// This program cloned the folder; it is trusted if `trusted` lists the URL.
    Cloned,
    /// This program created the project from its own skeletons.
    Created,
}

/// A folder that the user trusts, or that this program cloned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// The path without symbolic links.
    pub folder: PathBuf,
    pub device: u64,
    pub inode: u64,
    /// The time when the folder was created, in seconds since 1970, if the file system knows it.
    #[serde(default)]
    pub created: Option<u64>,
    /// The numeric id of the owner.
    pub owner: u32,
    /// The URL of the remote `origin`, without user and password.
    #[serde(default)]
    pub origin: Option<String>,
    pub reason: TrustReason,
    /// The time of the entry.
    pub time: String,
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoreContent {
    #[serde(default)]
    folders: Vec<TrustRecord>,
}

/// An error of the file with the trusted folders.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    File(#[from] fs::Error),
    #[error("`{}` is not a valid list of trusted folders: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
    #[error("another process holds the lock `{}`", path.display())]
    Locked { path: PathBuf },
    /// Other users could write the file.
    #[error("{0}")]
    Exposed(String),
}

impl TrustRecord {
    /// Creates an entry for a folder as it is now.
    pub fn of(folder: &Path, reason: TrustReason) -> Result<Self, fs::Error> {
        let folder = fs::canonicalize(folder)?;
        let FileIdentity {
            device,
            inode,
            owner,
            created,
        } = fs::identity_of(&folder)?;
        Ok(Self {
            origin: origin_of(&folder),
            folder,
            device,
            inode,
            created,
            owner,
            reason,
            time: clock::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        })
    }

    /// Returns the reason why the entry is no longer valid; `None` if it is.
    pub fn mismatch(&self) -> Option<&'static str> {
        let Ok(now) = fs::identity_of(&self.folder) else {
            return Some("the folder does not exist");
        };
        let is_same_time = now.created.is_none() || self.created.is_none();
        let is_same = (now.device, now.inode) == (self.device, self.inode)
            && (is_same_time || now.created == self.created);
        if !is_same || fs::canonicalize(&self.folder).ok().as_deref() != Some(&*self.folder) {
            Some("the folder has been replaced since you trusted it")
        } else if now.owner != self.owner {
            Some("the owner of the folder has changed since you trusted it")
        } else if origin_of(&self.folder) != self.origin {
            Some("the remote `origin` of the folder has changed since you trusted it")
        } else {
            None
        }
    }
}

/// Returns the URL of the remote `origin` of the repository around a folder, without user and password.
pub fn origin_of(folder: &Path) -> Option<String> {
    let repository = Repository::discover(folder).ok()??;
    repository.origin().map(|url| without_logins(&url))
}

/// The list of trusted folders in a home project.
#[derive(Debug, Clone)]
pub struct TrustStore {
    home: PathBuf,
}

impl TrustStore {
    /// Returns the list of the home project in a folder.
    pub fn of(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
        }
    }

    /// Returns the path of the file.
    pub fn file(&self) -> PathBuf {
        self.home.join(STORE_FILE)
    }

    /// Reads the entries.
    pub fn read(&self) -> Result<Vec<TrustRecord>, StoreError> {
        let file = self.file();
        if !fs::exists(&file) && !fs::is_symlink(&file) {
            return Ok(Vec::new());
        }
        let invalid = |reason: String| StoreError::Invalid {
            path: file.clone(),
            reason,
        };
        if !fs::is_file(&file) {
            return Err(invalid("it is not a regular file".to_owned()));
        }
        let bytes = fs::read_within(&file, MAX_STORE_BYTES)?;
        let text = String::from_utf8(bytes).map_err(|error| invalid(error.to_string()))?;
        let content: StoreContent =
            serde_yaml::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        Ok(content.folders)
    }

    /// Adds entries; each replaces the entry for the same folder with the same reason.
    pub fn add(&self, records: Vec<TrustRecord>) -> Result<(), StoreError> {
        self.change(|known| {
            for record in records {
                known.retain(|old| (&old.folder, old.reason) != (&record.folder, record.reason));
                known.push(record);
            }
        })
    }

    /// Removes the entries for a folder and for folders in it. Returns the folders.
    pub fn revoke(&self, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let mut removed = Vec::new();
        self.change(|known| {
            known.retain(|record| {
                let is_inside = record.folder.starts_with(folder);
                if is_inside && !removed.contains(&record.folder) {
                    removed.push(record.folder.clone());
                }
                !is_inside
            });
        })?;
        Ok(removed)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<TrustRecord>)) -> Result<(), StoreError> {
        if let Some(problem) = self.exposure() {
            return Err(StoreError::Exposed(problem));
        }
        let file = self.file();
        let folder = file.parent().unwrap_or(&self.home);
        fs::create_dir_all(folder)?;
        self.exclude_from_git();
        let lock = lock_beside(&file)?;
        let mut folders = self.read()?;
        change(&mut folders);
        let text = serde_yaml::to_string(&StoreContent { folders });
        let text = text.map_err(|error| StoreError::Invalid {
            path: file.clone(),
            reason: error.to_string(),
        })?;
        fs::write_atomic(&file, text.as_bytes(), Some(0o600))?;
        lock.remove()?;
        Ok(())
    }

    /// Keeps the file out of the repository of the home project, because it is about this computer.
    fn exclude_from_git(&self) {
        if let Ok(Some(repository)) = Repository::discover(&self.home) {
            let file = self.home.join("local/trust.yaml");
            let lock = self.home.join("local/trust.yaml.lock");
            let patterns = [
                ("**/local/trust.yaml", file.as_path()),
                ("**/local/trust.yaml.lock", &lock),
            ];
            // A repository that cannot be written does not hinder the user.
            repository.ensure_excluded(&patterns).ok();
        }
    }

    /// Returns the reason why the home project grants nothing: other users could have written it.
    pub fn exposure(&self) -> Option<String> {
        let file = self.file();
        let folder = file.parent().unwrap_or(&self.home);
        let project = self.home.join(super::PROJECT_FILE);
        let paths = [&*self.home, &*project, folder, &*file];
        paths.into_iter().find_map(|path| {
            let (Ok(identity), Ok(mode)) = (fs::identity_of(path), fs::mode_of(path)) else {
                return None;
            };
            let path = path.display();
            if identity.owner != user::effective_id() && identity.owner != 0 {
                let owner = user::name_of(identity.owner);
                return Some(format!(
                    "`{path}` belongs to {owner}, so the home project grants no trust"
                ));
            }
            (mode & 0o022 != 0).then(|| {
                format!("other users can write `{path}`, so the home project grants no trust")
            })
        })
    }
}

/// Takes the lock of a file. The lock of a process that has ended is taken over.
pub(super) fn lock_beside(file: &Path) -> Result<LockFile, StoreError> {
    let path = file.with_extension("yaml.lock");
    let lock = LockFile::wait(&path, machine::pid().to_string().as_bytes(), LOCK_LIMIT)?;
    lock.ok_or(StoreError::Locked { path })
}

/// Records that this program created a project in a folder from its own skeletons, so that it is trusted.
pub fn record_created(home: &Path, folder: &Path) -> Result<(), StoreError> {
    record(home, folder, TrustReason::Created)
}

/// Records that this program cloned a repository into a folder, so that `trusted: URL` covers the folder.
pub fn record_cloned(home: &Path, folder: &Path) -> Result<(), StoreError> {
    record(home, folder, TrustReason::Cloned)
}

fn record(home: &Path, folder: &Path, reason: TrustReason) -> Result<(), StoreError> {
    let record = TrustRecord::of(folder, reason)?;
    TrustStore::of(home).add(vec![record])
}
