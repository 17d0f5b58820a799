//! Commits exactly the given files. The user's index and other changes stay untouched: the new tree is the
//! last commit's tree with these files replaced.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, ErrorCode, FileMode, Oid};

use super::Error;
use super::branch_update::BranchUpdate;
use super::command::error_text;
use super::hooks::CommitHooks;
use super::objects::TreeChange;
use super::repository::Repository;
use crate::system::fs;

/// The maximum number of attempts if other processes commit at the same time.
const MAX_ATTEMPTS: usize = 5;

/// The size from which on the git program stores a file, because this program would hold it in memory.
pub(super) const MAX_BYTES_IN_MEMORY: u64 = 16 << 20;

/// The commit that a call has created, with the files it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the caller reports what was committed"]
pub struct CommitOutcome {
    pub id: String,
    /// The changed files, relative to the root of the working tree.
    pub files: Vec<PathBuf>,
    /// Messages about steps that failed after the commit was created.
    pub warnings: Vec<String>,
}

/// The index entries that a commit sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IndexChange {
    /// Those of the committed files.
    ToCommit,
    /// Those of files that hooks have changed.
    OfHooks,
}

impl Repository {
    /// Commits the current content of files; returns `None` if they equal the last commit. Missing files are
    /// removed. Paths are absolute or relative to the root of the working tree.
    pub fn commit(&self, files: &[PathBuf], message: &str) -> Result<Option<CommitOutcome>, Error> {
        let mut paths = Vec::new();
        for file in files {
            paths.push(self.path_in_repository(file)?);
        }
        paths.sort();
        paths.dedup();
        self.check_ready_to_commit()?;
        let mut outcome = self.commit_as(message, IndexChange::ToCommit, |base| {
            let mut contents = Vec::new();
            for path in &paths {
                contents.push((path.clone(), self.store_worktree_path(path)?));
            }
            self.tree_with(base, &contents)
        })?;
        match (self.repair_index(&paths), &mut outcome) {
            (Err(error), Some(outcome)) => outcome.warnings.push(error.to_string()),
            (repaired, _) => repaired?,
        }
        Ok(outcome)
    }

    /// Commits the index as the user has staged it.
    pub fn commit_staged(&self, message: &str) -> Result<Option<CommitOutcome>, Error> {
        self.check_ready_to_commit()?;
        self.commit_as(message, IndexChange::OfHooks, |_| {
            let read = || {
                let mut index = self.inner.index()?;
                index.read(true)?;
                Ok(index)
            };
            self.tree_of_index(&read().map_err(self.failed("read the index"))?)
        })
    }

    /// Creates a commit of the tree that `tree` computes from the last commit's tree. Repeats if another
    /// process commits at the same time.
    fn commit_as(
        &self,
        message: &str,
        index: IndexChange,
        tree: impl Fn(Option<&git2::Tree<'_>>) -> Result<Oid, Error>,
    ) -> Result<Option<CommitOutcome>, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let parent = self.tip()?;
            let base = match &parent {
                Some(parent) => Some(parent.tree().map_err(self.failed("read the commit"))?),
                None => None,
            };
            let new = tree(base.as_ref())?;
            if base.as_ref().map(git2::Tree::id) == Some(new)
                || (base.is_none() && self.is_empty(new))
            {
                return Ok(None);
            }
            let mut hooks = CommitHooks::prepare(self, new)?;
            let given = new;
            let new = hooks.run_pre_commit(given)?;
            let message = hooks.run_commit_msg(message)?;
            let create = || self.create_commit(new, parent.as_ref(), &message, None);
            let id = self.stored(create)?;
            let files = self.differences(base.as_ref(), new)?;
            self.sync_objects(id, new, &files)?;
            let staged = match index {
                IndexChange::ToCommit => files.clone(),
                IndexChange::OfHooks => self.differences_of(given, new)?,
            };
            let update = BranchUpdate {
                from: parent.as_ref().map(git2::Commit::id),
                to: id,
                log: &format!("commit: {}", message.lines().next().unwrap_or_default()),
                is_checkout: false,
            };
            let moved = self.move_branch(&update, |operation| {
                let change = (!staged.is_empty()).then_some(&staged);
                let change = change.map(|files| self.prepare_index(operation, files, new));
                change.transpose()
            });
            match moved {
                Err(Error::ConcurrentCommit { .. }) if tries < MAX_ATTEMPTS => {}
                Err(error) => return Err(error),
                Ok(mut warnings) => {
                    warnings.extend(hooks.run_post_commit());
                    return Ok(Some(CommitOutcome {
                        id: id.to_string(),
                        files,
                        warnings,
                    }));
                }
            }
        }
    }

    /// Returns the checked-out commit; `None` before the first commit.
    pub(super) fn tip(&self) -> Result<Option<git2::Commit<'_>>, Error> {
        match self.inner.head().and_then(|head| head.peel_to_commit()) {
            Ok(commit) => Ok(Some(commit)),
            Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
                Ok(None)
            }
            Err(error) => Err(self.failed("find the commit")(error)),
        }
    }

    pub(super) fn find_commit(&self, id: Oid) -> Result<git2::Commit<'_>, Error> {
        let commit = self.inner.find_commit(id);
        commit.map_err(self.failed("find the commit"))
    }

    fn is_empty(&self, tree: Oid) -> bool {
        self.inner.find_tree(tree).is_ok_and(|tree| tree.is_empty())
    }

    /// Stores the current content of a path in the object database.
    pub(super) fn store_worktree_path(&self, path: &Path) -> Result<TreeChange, Error> {
        let file = self.root().join(path);
        let is_link = fs::is_symlink(&file);
        if fs::is_dir(&file) && !is_link {
            return Ok(commit_in(&file).map_or(TreeChange::Remove, |id| {
                TreeChange::Set(id, FileMode::Commit)
            }));
        }
        if !is_link && !fs::exists(&file) {
            return Ok(TreeChange::Remove);
        }
        if !is_link {
            fs::refuse_special(&file)?;
        }
        let id = if is_link {
            let target = fs::read_link(&file)?;
            let write = || self.inner.blob(target.as_os_str().as_bytes());
            self.stored(|| write().map_err(self.failed("add a link")))?
        } else if self.has_filter(path) || fs::stat_of(&file)?.size > MAX_BYTES_IN_MEMORY {
            self.check_filters(&[path.to_owned()])?;
            self.stored(|| self.store_filtered(path, &file))?
        } else {
            let write = || match self.inner.blob_path(&file) {
                // libgit2 looks for attributes in the index, and does not support all of its formats.
                Err(_) if !self.is_index_readable() => self.store_without_index(path, &file),
                stored => stored.map_err(self.failed("add a file")),
            };
            self.stored(write)?
        };
        let mode = if is_link {
            FileMode::Link
        } else if self.is_executable(path, &file) {
            FileMode::BlobExecutable
        } else {
            FileMode::Blob
        };
        Ok(TreeChange::Set(id, mode))
    }

    fn is_executable(&self, path: &Path, file: &Path) -> bool {
        let config = self.inner.config();
        let trusted = config.and_then(|config| config.get_bool("core.fileMode"));
        if trusted.unwrap_or(true) {
            return fs::mode_of(file).is_ok_and(|mode| mode & 0o100 != 0);
        }
        let tip = self.tip().ok().flatten();
        let entry = tip.and_then(|tip| tip.tree().ok()?.get_path(path).ok());
        entry.is_some_and(|entry| entry.filemode() == i32::from(FileMode::BlobExecutable))
    }

    /// Whether a filter program converts the file on commit, as git-lfs and git-crypt do.
    pub(super) fn has_filter(&self, path: &Path) -> bool {
        self.filter_of(path).is_some()
    }

    /// Returns the name of the filter that converts the file on commit.
    pub(super) fn filter_of(&self, path: &Path) -> Option<String> {
        let flags = AttrCheckFlags::FILE_THEN_INDEX;
        let filter = self.inner.get_attr_bytes(path, "filter", flags);
        let name = filter.ok().flatten().filter(|name| !name.is_empty())?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    fn store_without_index(&self, path: &Path, file: &Path) -> Result<Oid, Error> {
        if !self.is_trusted && self.isolation()?.has_untrusted_filters() {
            let message = "libgit2 cannot read the index, so the filter of the file is unknown";
            return Err(Error::refused("add a file", self.root(), message));
        }
        self.store_filtered(path, file)
    }

    fn store_filtered(&self, path: &Path, file: &Path) -> Result<Oid, Error> {
        let (Some(name), Some(file)) = (path.to_str(), file.to_str()) else {
            return Err(Error::refused(
                "add a file",
                self.root(),
                "its name is not valid UTF-8",
            ));
        };
        let name = format!("--path={name}");
        let call = self.git(["hash-object", "-w", &name, "--", file])?;
        let output = call.run_checked("add a file")?;
        Oid::from_str(&output.text()).map_err(self.failed("add a file"))
    }

    /// Returns the paths that differ between two trees, sorted.
    pub(super) fn differences(
        &self,
        from: Option<&git2::Tree<'_>>,
        to: Oid,
    ) -> Result<Vec<PathBuf>, Error> {
        let failed = || self.failed("compare");
        let to = self.inner.find_tree(to).map_err(failed())?;
        let mut options = git2::DiffOptions::new();
        options.ignore_submodules(false);
        let diff = self
            .inner
            .diff_tree_to_tree(from, Some(&to), Some(&mut options))
            .map_err(failed())?;
        let mut paths: Vec<PathBuf> = diff
            .deltas()
            .filter_map(|delta| {
                let path = delta.new_file().path().or_else(|| delta.old_file().path());
                path.map(Path::to_owned)
            })
            .collect();
        paths.sort();
        Ok(paths)
    }

    fn differences_of(&self, from: Oid, to: Oid) -> Result<Vec<PathBuf>, Error> {
        let from = self.inner.find_tree(from);
        let from = from.map_err(self.failed("read the commit"))?;
        self.differences(Some(&from), to)
    }

    /// Creates a commit object without moving any branch. `author` defaults to the user.
    pub(super) fn create_commit(
        &self,
        tree: Oid,
        parent: Option<&git2::Commit<'_>>,
        message: &str,
        author: Option<&git2::Signature<'_>>,
    ) -> Result<Oid, Error> {
        if self.is_setting_enabled("commit.gpgsign") {
            return self.create_signed_commit(tree, parent.map(git2::Commit::id), message);
        }
        let failed = || self.failed("commit");
        let (own, committer) = self.identities()?;
        let author = author.unwrap_or(&own);
        let tree = self.inner.find_tree(tree).map_err(failed())?;
        let parents: Vec<_> = parent.into_iter().collect();
        self.inner
            .commit(None, author, &committer, message, &tree, &parents)
            .map_err(failed())
    }

    /// Creates a commit that git signs, with the program and key of the user's configuration.
    ///
    /// # Errors
    ///
    /// Only settings of an untrusted repository name the program.
    fn create_signed_commit(
        &self,
        tree: Oid,
        parent: Option<Oid>,
        message: &str,
    ) -> Result<Oid, Error> {
        self.check_signer()?;
        let mut words = vec!["commit-tree".to_owned(), "-S".to_owned(), tree.to_string()];
        if let Some(parent) = parent {
            words.extend(["-p".to_owned(), parent.to_string()]);
        }
        words.extend(["-F".to_owned(), "-".to_owned()]);
        let output = self.git(words)?.stdin(message.as_bytes()).run()?;
        if !output.is_ok() {
            return Err(Error::SigningFailed {
                path: self.root().to_owned(),
                message: error_text(&output),
            });
        }
        Oid::from_str(&output.text()).map_err(self.failed("commit"))
    }
}

/// Returns the commit checked out in the repository of a folder.
fn commit_in(folder: &Path) -> Option<Oid> {
    let repository = git2::Repository::open(folder).ok()?;
    let head = repository.head().ok()?;
    head.peel_to_commit().ok().map(|commit| commit.id())
}
