//! The cache of repositories that were fetched: one mirror for each address, below the user's cache folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::{self, Mirror, refuse_foreign};
use crate::package::SourceUrl;
use crate::system::env::Env;
use crate::system::fs;
use crate::system::lockfile::LockFile;
use crate::system::machine;
use crate::value::{Value, canonical_sha256};

/// The longest wait for another process that uses the same mirror.
const LOCK_LIMIT: Duration = Duration::from_mins(15);
/// The number of digits of the digest in the name of a mirror.
const DIGEST_LENGTH: usize = 24;

/// The cache of the user.
#[derive(Debug, Clone)]
pub struct CloneCache {
    folder: PathBuf,
}

/// A mirror that no other process uses at the same time.
#[derive(Debug)]
pub struct LockedMirror {
    pub mirror: Mirror,
    /// Whether it was there before.
    pub is_known: bool,
    lock: Option<LockFile>,
}

/// An error of the cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    #[error(
        "there is no folder for the cache of repositories, because neither `HOME` nor `XDG_CACHE_HOME` is set"
    )]
    NoFolder,
    #[error("another process holds the lock `{}`", path.display())]
    Locked { path: PathBuf },
    #[error(transparent)]
    File(#[from] fs::Error),
    #[error(transparent)]
    Git(#[from] git::Error),
}

impl CloneCache {
    /// Returns the cache of the user: `UNFURL_CLONE_ROOT`, or else `unfurl/git` in the user's cache folder.
    pub fn of_user(env: &Env) -> Result<Self, CacheError> {
        let own = env.non_empty("UNFURL_CLONE_ROOT").map(PathBuf::from);
        let shared = env.non_empty("XDG_CACHE_HOME").map(PathBuf::from);
        // A relative path in this variable is to be ignored.
        let shared = shared.filter(|path| path.is_absolute());
        let home = || Some(Path::new(env.non_empty("HOME")?).join(".cache"));
        let shared = || Some(shared.or_else(home)?.join("unfurl/git"));
        let folder = own.or_else(shared).ok_or(CacheError::NoFolder)?;
        let here = crate::system::env::current_dir().unwrap_or_default();
        Ok(Self {
            folder: fs::absolute(&folder, &here),
        })
    }

    /// Opens or creates the mirror of an address. `source` has no login.
    pub fn lock(&self, source: &SourceUrl) -> Result<LockedMirror, CacheError> {
        fs::create_dir_all(&self.folder)?;
        refuse_foreign(&self.folder)?;
        let name = name_of(&source.address);
        let path = self.folder.join(format!("{name}.lock"));
        let lock = LockFile::wait(&path, machine::pid().to_string().as_bytes(), LOCK_LIMIT)?;
        let lock = lock.ok_or(CacheError::Locked { path })?;
        let folder = self.folder.join(name);
        let known = Mirror::open(&folder, &source.address)?;
        let is_known = known.is_some();
        let mirror = match known {
            Some(mirror) => mirror,
            None => Mirror::create(&folder, &source.address)?,
        };
        Ok(LockedMirror {
            mirror,
            is_known,
            lock: Some(lock),
        })
    }
}

impl Drop for LockedMirror {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            // A lock file that stays is taken over, because nobody holds its lock.
            lock.remove().ok();
        }
    }
}

/// Returns the name of the mirror of an address: its last part, and a digest of the whole.
fn name_of(address: &str) -> String {
    let base = base_name(address);
    let digest = canonical_sha256(&Value::from(address));
    format!("{base}-{}", &digest[..DIGEST_LENGTH])
}

/// Returns the last part of an address without `.git`, with characters that are safe in file names.
pub fn base_name(address: &str) -> String {
    let path = address.trim_end_matches('/');
    let last = path.rsplit(['/', ':']).next().unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last);
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name: String = last.chars().filter(|c| is_usual(*c)).take(60).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() {
        "repository".to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mirrors_are_safe_and_different() {
        assert_eq!(base_name("https://h/a/types.git"), "types");
        assert_eq!(base_name("git@h:types"), "types");
        assert_eq!(base_name("https://h/../-x/.git"), "repository");
        assert_eq!(base_name("https://h/\u{1b}[1m.git/"), "1m");
        assert_ne!(
            name_of("https://h/a/types.git"),
            name_of("https://h/b/types.git")
        );
    }
}
