//! Adds lines to the files in git's `info` folder, which apply in this clone only.

use std::path::Path;

use super::Error;
use super::lock_file::GitLock;
use super::operation::OperationRecord;
use super::repository::Repository;
use crate::system::fs::{self, Beneath};

/// The maximum size of a file in git's `info` folder.
const MAX_INFO_BYTES: u64 = 16 << 20;

impl Repository {
    /// Excludes patterns in this clone (`.git/info/exclude`), with one write for all of them. Each has a path that
    /// matches it; if that is ignored already, nothing is added. Returns whether the file was changed.
    pub fn ensure_excluded(&self, patterns: &[(&str, &Path)]) -> Result<bool, Error> {
        let mut lines = Vec::new();
        for (pattern, probe) in patterns {
            if !self.is_ignored(probe)? {
                lines.push((*pattern).to_owned());
            }
        }
        self.append_to_info_file("exclude", &lines)
    }

    /// Includes a file that a pattern of this clone excludes. A rule of a tracked `.gitignore` stays in effect.
    pub fn ensure_included(&self, pattern: &str, path: &Path) -> Result<bool, Error> {
        if !self.is_ignored(path)? {
            return Ok(false);
        }
        self.append_to_info_file("exclude", &[format!("!{pattern}")])
    }

    /// Appends missing lines to a file in git's `info` folder. Returns whether the file was changed.
    pub(super) fn append_to_info_file(&self, name: &str, lines: &[String]) -> Result<bool, Error> {
        // The folder may come from an archive of somebody else, so links in it are not followed.
        let folder = Beneath::open(self.inner.commondir())?;
        let file = Path::new("info").join(name);
        if extended(&folder, &file, lines)?.is_none() {
            return Ok(false);
        }
        if folder.info(Path::new("info"))?.is_none() {
            folder.create_dir_all(Path::new("info"))?;
            fs::sync_dir(folder.path())?;
        }
        let lock = folder.path().join("info").join(format!("{name}.lock"));
        let operation = self.begin_operation(OperationRecord::new(), &[&lock])?;
        let lock = GitLock::acquire(&lock, self.root())?;
        // Another process may have added the lines since.
        let text = extended(&folder, &file, lines)?;
        if let Some(text) = &text {
            // A process that is killed here leaves no temporary file in git's folder.
            let new = operation.path(name);
            let mode = fs::mode_of(&folder.path().join(&file)).ok();
            fs::write_atomic(&new, text, mode)?;
            folder.refuse_link(&file)?;
            folder.rename(&new, &file)?;
            fs::sync_parent(&folder.path().join(&file))?;
        }
        lock.release()?;
        Ok(text.is_some())
    }
}

/// Returns the bytes of a file with the lines that it lacks; `None` if it has all of them.
fn extended(folder: &Beneath, file: &Path, lines: &[String]) -> Result<Option<Vec<u8>>, Error> {
    let mut text = match folder.read(file, MAX_INFO_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let before = text.len();
    for line in lines {
        let mut known = text.split(|byte| *byte == b'\n');
        if known.any(|known| known.strip_suffix(b"\r").unwrap_or(known) == line.as_bytes()) {
            // The line exists, but another rule overrides it.
            continue;
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend(line.as_bytes());
        text.push(b'\n');
    }
    Ok((text.len() > before).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D10: two processes that added lines at once lost each other's.
    #[test]
    fn lines_that_are_added_at_once_all_stay() {
        let folder = tempfile::tempdir().unwrap();
        git2::Repository::init(folder.path()).unwrap();
        let root = folder.path();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    for line in 0..5 {
                        let repository = Repository::discover(root).unwrap().unwrap();
                        let name = format!("x{thread}-{line}");
                        let probe = root.join(&name);
                        let patterns = [(name.as_str(), probe.as_path())];
                        assert!(repository.ensure_excluded(&patterns).unwrap());
                    }
                });
            }
        });
        let text = fs::read_to_string(&root.join(".git/info/exclude")).unwrap();
        let added = text.lines().filter(|line| line.starts_with('x'));
        assert_eq!(added.count(), 40, "{text}");
    }
}
