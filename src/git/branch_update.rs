//! Moves the checked-out branch together with the index, in an order that is safe at every instant.
//!
//! All locks are held before anything is read. The new index gets its name before the branch does: a kill in
//! between leaves the changes staged. The reverse order would leave them staged for reversal, so that the next
//! commit would undo them.

use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid};

use super::Error;
use super::concurrent_git::wait_for_running_git;
use super::lock_file::{GitLock, lock_of};
use super::operation::{CheckoutRecord, Operation, OperationRecord};
use super::repository::Repository;
use crate::system::fs;

/// The maximum number of symbolic references that lead to a branch. Git's limit is the same.
const MAX_SYMBOLIC: usize = 5;

/// The reference of the checked-out commit.
const HEAD: &str = "HEAD";

/// A movement of the checked-out branch, or of a detached `HEAD`.
#[derive(Debug)]
pub(super) struct BranchUpdate<'a> {
    /// The commit that the branch points at before; none before the first commit.
    pub(super) from: Option<Oid>,
    pub(super) to: Oid,
    /// The message for the reflog.
    pub(super) log: &'a str,
    /// True if the files of the working tree change too, so that a killed process must be continued.
    pub(super) is_checkout: bool,
}

/// The locks of an update. They are released in the reverse order.
struct UpdateLocks {
    index: GitLock,
    head: GitLock,
    branch: Option<GitLock>,
}

impl Repository {
    /// Moves the branch. `prepare` runs while all locks are held, and returns the file that becomes the new index.
    /// Returns messages about steps that failed after the branch moved.
    ///
    /// # Errors
    ///
    /// The branch is where it was.
    pub(super) fn move_branch(
        &self,
        update: &BranchUpdate<'_>,
        prepare: impl FnOnce(&mut Operation) -> Result<Option<PathBuf>, Error>,
    ) -> Result<Vec<String>, Error> {
        let own = self.inner.path();
        let name = self.checked_out_reference()?;
        let branch = self.file_of(&name);
        let paths = [own.join("index"), own.join(HEAD), branch.clone()].map(|path| lock_of(&path));
        let mut record = OperationRecord::new();
        if update.is_checkout {
            record.checkout = Some(CheckoutRecord {
                from: update.from.map(|id| id.to_string()),
                to: update.to.to_string(),
                log: update.log.to_owned(),
            });
        }
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let mut operation = self.begin_operation(record, &paths)?;
        let locks = UpdateLocks {
            index: GitLock::acquire(paths[0], self.root())?,
            head: GitLock::acquire(paths[1], self.root())?,
            branch: match name.as_str() {
                HEAD => None,
                _ => Some(GitLock::acquire(paths[2], self.root())?),
            },
        };
        if self.checked_out_reference()? != name || self.target_of(&name)? != update.from {
            return Err(Error::ConcurrentCommit {
                path: self.root().to_owned(),
            });
        }
        let new_index = prepare(&mut operation)?;
        let new_branch = operation.path("ref");
        write_private(&new_branch, format!("{}\n", update.to).as_bytes(), None)?;
        self.append_reflogs(&name, update, &operation)?;
        if let Some(new_index) = new_index {
            let index = own.join("index");
            fs::rename(&new_index, &index)?;
            fs::sync_parent(&index)?;
        }
        fs::rename(&new_branch, &branch)?;
        Ok(self.release(locks, &branch))
    }

    /// Makes the new branch durable and releases the locks.
    fn release(&self, locks: UpdateLocks, branch: &Path) -> Vec<String> {
        let shared = self.inner.commondir();
        // A branch such as `a/b` may have a new folder.
        let folders = branch.ancestors().skip(1);
        let folders = folders.take_while(|folder| folder.starts_with(shared));
        let mut warnings = Vec::new();
        for folder in folders {
            if let Err(error) = fs::sync_dir(folder) {
                warnings.push(format!(
                    "the commit may be lost if the power fails: {error}"
                ));
                break;
            }
        }
        let mut release = |lock: GitLock| {
            if let Err(error) = lock.release() {
                warnings.push(format!("a lock file of git may be left over: {error}"));
            }
        };
        locks.branch.into_iter().for_each(&mut release);
        release(locks.head);
        wait_for_running_git(self.root());
        release(locks.index);
        warnings
    }

    /// Sets a reference that is not checked out, such as that of a remote's branch, while its lock is held.
    pub(super) fn set_reference(
        &self,
        name: &str,
        to: Oid,
        log: &str,
        lock: GitLock,
        operation: &Operation,
    ) -> Result<(), Error> {
        let from = self.target_of(name)?;
        if from != Some(to) {
            let new = operation.path("ref");
            write_private(&new, format!("{to}\n").as_bytes(), None)?;
            self.append_reflog(name, (from, to), log, operation)?;
            fs::rename(&new, &self.file_of(name))?;
        }
        Ok(lock.release()?)
    }

    /// Returns the file of a reference.
    pub(super) fn file_of(&self, name: &str) -> PathBuf {
        let folder = match name {
            HEAD => self.inner.path(),
            _ => self.inner.commondir(),
        };
        folder.join(name)
    }

    /// Returns the lock file of a reference.
    pub(super) fn lock_file_of(&self, name: &str) -> PathBuf {
        lock_of(&self.file_of(name))
    }

    /// Returns the name of the checked-out branch, which may not exist yet, or `HEAD` if it is detached.
    fn checked_out_reference(&self) -> Result<String, Error> {
        let mut name = HEAD.to_owned();
        for _ in 0..MAX_SYMBOLIC {
            let found = match self.inner.find_reference(&name) {
                Ok(found) => found,
                Err(error) if error.code() == ErrorCode::NotFound => return Ok(name),
                Err(error) => return Err(self.failed("find the commit")(error)),
            };
            let target = found.symbolic_target();
            match target.map_err(self.failed("find the commit"))? {
                Some(target) => target.clone_into(&mut name),
                None => return Ok(name),
            }
        }
        let message = "too many symbolic references lead to the branch";
        Err(Error::refused("find the commit", self.root(), message))
    }

    /// Returns the commit that a reference points at; `None` if it does not exist.
    fn target_of(&self, name: &str) -> Result<Option<Oid>, Error> {
        match self.inner.find_reference(name) {
            Ok(found) => Ok(found.target()),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(self.failed("find the commit")(error)),
        }
    }

    /// Appends to the reflogs of the branch and of `HEAD`, as git does.
    fn append_reflogs(
        &self,
        name: &str,
        update: &BranchUpdate<'_>,
        operation: &Operation,
    ) -> Result<(), Error> {
        let ids = (update.from, update.to);
        self.append_reflog(name, ids, update.log, operation)?;
        if name != HEAD {
            self.append_reflog(HEAD, ids, update.log, operation)?;
        }
        Ok(())
    }

    /// Appends a line to the reflog of a reference whose lock is held. The file is replaced, so that no crash leaves
    /// a part of the line.
    fn append_reflog(
        &self,
        name: &str,
        (from, to): (Option<Oid>, Oid),
        log: &str,
        operation: &Operation,
    ) -> Result<(), Error> {
        let folder = match name {
            HEAD => self.inner.path(),
            _ => self.inner.commondir(),
        };
        let file = folder.join("logs").join(name);
        if !self.is_logged(name) && !fs::is_file(&file) {
            return Ok(());
        }
        let (_, committer) = self.identities()?;
        let time = committer.when();
        let minutes = time.offset_minutes();
        let sign = if minutes < 0 { '-' } else { '+' };
        let zone = minutes.abs() / 60 * 100 + minutes.abs() % 60;
        let from = from.unwrap_or(Oid::ZERO_SHA1);
        let mut text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        // A crash may have left a part of a line.
        let whole = text.iter().rposition(|byte| *byte == b'\n');
        text.truncate(whole.map_or(0, |end| end + 1));
        let mut line = format!("{from} {to} ").into_bytes();
        line.extend_from_slice(committer.name_bytes());
        line.extend_from_slice(b" <");
        line.extend_from_slice(committer.email_bytes());
        let log = log.split_whitespace().collect::<Vec<_>>().join(" ");
        let rest = format!("> {} {sign}{zone:04}\t{log}\n", time.seconds());
        line.extend_from_slice(rest.as_bytes());
        text.extend(line);
        let new = operation.path("log");
        write_private(&new, &text, fs::mode_of(&file).ok())?;
        let parent = file.parent().unwrap_or(folder);
        let is_new = !fs::is_dir(parent);
        fs::create_dirs_like_parent(parent)?;
        fs::rename(&new, &file)?;
        let changed = parent.ancestors().take(if is_new { usize::MAX } else { 1 });
        for folder in changed.take_while(|it| it.starts_with(folder)) {
            fs::sync_dir(folder)?;
        }
        Ok(())
    }

    /// Returns true if git starts a reflog for the reference (`core.logAllRefUpdates`).
    fn is_logged(&self, name: &str) -> bool {
        let config = self.inner.config();
        let setting = config.and_then(|config| config.get_string("core.logAllRefUpdates"));
        let usual = ["refs/heads/", "refs/remotes/", "refs/notes/"];
        match setting.as_deref().map(str::trim) {
            Ok(text) if text.eq_ignore_ascii_case("always") => true,
            Ok(text) if !git2::Config::parse_bool(text).unwrap_or(true) => false,
            _ => name == HEAD || usual.iter().any(|start| name.starts_with(start)),
        }
    }
}

/// Writes a private file of an operation, which then gets its final name.
fn write_private(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<(), Error> {
    fs::write_plain(path, bytes, mode)?;
    Ok(fs::sync_file(path)?)
}
