//! Checks out a commit: the files of the working tree, then the index and the branch.
//!
//! Each file is replaced atomically. A record of the operation lets the next process complete a checkout whose
//! process was killed.

use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{FileMode, ObjectType, Oid};

use super::Error;
use super::branch_update::BranchUpdate;
use super::objects::TreeChange;
use super::operation::{CheckoutRecord, Operation};
use super::remote::Upstream;
use super::repository::Repository;
use crate::system::fs::{self, Beneath, EntryKind, FILE_MODE, WalkLimits};

/// The permission bits that make a file a program.
const PROGRAM_BITS: u32 = 0o111;

impl Repository {
    /// Fast-forwards the branch and the working tree to the upstream and returns the changed files.
    ///
    /// # Errors
    ///
    /// Uncommitted changes would be overwritten; nothing is changed then.
    pub fn fast_forward(&self, upstream: &Upstream) -> Result<Vec<PathBuf>, Error> {
        let Some(there) = self.fetched_commit(upstream) else {
            return Ok(Vec::new());
        };
        self.checkout_commit(there, &format!("unfurl: fast-forward to {upstream}"))
    }

    /// Checks out a commit and returns the changed files.
    pub(super) fn checkout_commit(&self, to: Oid, log: &str) -> Result<Vec<PathBuf>, Error> {
        let tip = self.tip()?;
        let from = tip.as_ref().map(git2::Commit::id);
        let commit = self.inner.find_commit(to);
        let tree = commit.and_then(|commit| commit.tree());
        let tree = tree.map_err(self.failed("find the commit"))?;
        let base = match &tip {
            Some(tip) => Some(tip.tree().map_err(self.failed("read the commit"))?),
            None => None,
        };
        let files = self.differences(base.as_ref(), tree.id())?;
        if from == Some(to) {
            return Ok(files);
        }
        self.refuse_overwriting(base.as_ref(), &tree, &files)?;
        self.check_filters(&files)?;
        let update = BranchUpdate {
            from,
            to,
            log,
            is_checkout: true,
        };
        self.move_branch(&update, |operation| {
            // Changes may have been made since, while another process held the lock.
            self.refuse_overwriting(base.as_ref(), &tree, &files)?;
            if files.iter().any(|file| self.has_filter(file)) {
                return self.checkout_with_git(operation, base.as_ref(), &tree);
            }
            self.write_files(operation, &tree, &files)?;
            self.prepare_index(operation, &files, tree.id()).map(Some)
        })?;
        Ok(files)
    }

    /// Completes a checkout whose process was killed, if the branch has not moved since.
    pub(super) fn complete_checkout(&self, record: &CheckoutRecord) -> Result<(), Error> {
        let from = self.tip()?.map(|tip| tip.id().to_string());
        let Ok(to) = Oid::from_str(&record.to) else {
            return Ok(());
        };
        if from != record.from {
            return Ok(());
        }
        match self.checkout_commit(to, &record.log) {
            // The user has changed files since. They stay, and so does what the checkout has written.
            Err(Error::WouldOverwrite { .. } | Error::UntrustedFilter { .. }) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Refuses to overwrite files with uncommitted changes. A file that has the new content already, as after a
    /// killed checkout, is fine.
    fn refuse_overwriting(
        &self,
        base: Option<&git2::Tree<'_>>,
        tree: &git2::Tree<'_>,
        files: &[PathBuf],
    ) -> Result<(), Error> {
        let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let changed = self.changes(&paths)?;
        let mut conflicting = Vec::new();
        for path in changed {
            let is_concerned = |file: &PathBuf| *file == path || file.starts_with(&path);
            if files.iter().any(is_concerned) && !self.is_checked_out(&path, base, tree)? {
                conflicting.push(path);
            }
        }
        for file in files {
            let is_new = base.is_none_or(|base| base.get_path(file).is_err());
            let whole = self.root().join(file);
            let is_there = fs::exists(&whole) || fs::is_symlink(&whole);
            if conflicting.contains(file) || !is_there {
                continue;
            }
            let is_folder = fs::is_dir(&whole) && !fs::is_symlink(&whole);
            let is_file_now = tree.get_path(file).is_ok_and(|entry| is_blob(&entry));
            let is_lost = if is_folder {
                // Files that git does not know would go with the folder.
                is_file_now && self.has_other_files(&whole, files)?
            } else {
                // Git may ignore the file.
                is_new && !self.is_checked_out(file, base, tree)?
            };
            if is_lost {
                conflicting.push(file.clone());
            }
        }
        if conflicting.is_empty() {
            return Ok(());
        }
        Err(Error::WouldOverwrite {
            path: self.root().to_owned(),
            files: conflicting,
        })
    }

    /// Returns true if a file has the content of the new tree, and its index entry is that of the old or the new tree.
    fn is_checked_out(
        &self,
        path: &Path,
        base: Option<&git2::Tree<'_>>,
        tree: &git2::Tree<'_>,
    ) -> Result<bool, Error> {
        let id_in = |tree: &git2::Tree<'_>| tree.get_path(path).ok().map(|entry| entry.id());
        let new = id_in(tree);
        let index = self.inner.index();
        let staged = index.ok().and_then(|index| index.get_path(path, 0));
        let staged = staged.map(|entry| entry.id);
        if staged != new && staged != base.and_then(id_in) {
            return Ok(false);
        }
        let found = match self.store_worktree_path(path)? {
            TreeChange::Set(id, _) => Some(id),
            TreeChange::Remove => None,
        };
        Ok(found == new)
    }

    fn has_other_files(&self, folder: &Path, files: &[PathBuf]) -> Result<bool, Error> {
        let entries = fs::walk(folder, WalkLimits::default())?;
        let mut entries = entries.iter().filter(|it| it.kind != EntryKind::Folder);
        Ok(entries.any(|entry| {
            let path = entry.path.strip_prefix(self.root());
            path.is_ok_and(|path| !files.iter().any(|file| file == path))
        }))
    }

    /// Writes the files of a tree to the working tree and removes those that it lacks.
    fn write_files(
        &self,
        operation: &mut Operation,
        tree: &git2::Tree<'_>,
        files: &[PathBuf],
    ) -> Result<(), Error> {
        let staging = operation.path("tree");
        fs::create_dir_all(&staging)?;
        let (there, removed): (Vec<&PathBuf>, Vec<&PathBuf>) = files
            .iter()
            .partition(|file| tree.get_path(file).is_ok_and(|entry| is_blob(&entry)));
        if !there.is_empty() {
            // libgit2 converts line ends and the like, but does not replace files atomically.
            let mut options = CheckoutBuilder::new();
            options.force().update_index(false).target_dir(&staging);
            options.disable_pathspec_match(true);
            for file in &there {
                options.path(file);
            }
            let written = self
                .inner
                .checkout_tree(tree.as_object(), Some(&mut options));
            written.map_err(self.failed("check out"))?;
        }
        // From here on, the working tree changes.
        operation.leave_unfinished();
        let root = Beneath::open(self.root())?;
        for file in removed {
            self.remove_file(&root, tree, file)?;
        }
        for file in there {
            let is_program = tree
                .get_path(file)
                .is_ok_and(|entry| entry.filemode() == i32::from(FileMode::BlobExecutable));
            replace_file(&root, &staging.join(file), file, is_program)?;
            fs::sync_parent(&self.root().join(file))?;
        }
        operation.finish();
        Ok(())
    }

    /// Removes a file that the tree lacks, and the folders that it leaves empty.
    fn remove_file(&self, root: &Beneath, tree: &git2::Tree<'_>, file: &Path) -> Result<(), Error> {
        let info = root.info(file)?;
        let is_submodule = tree.get_path(file).is_ok_and(|entry| !is_blob(&entry));
        if is_submodule || info.is_none_or(|info| info.kind == EntryKind::Folder) {
            return Ok(());
        }
        root.remove_file(file)?;
        let folders = file.ancestors().skip(1);
        for folder in folders.take_while(|folder| !folder.as_os_str().is_empty()) {
            if !root.list(folder)?.is_empty() {
                return Ok(fs::sync_dir(&self.root().join(folder))?);
            }
            root.remove_dir_all(folder)?;
        }
        Ok(fs::sync_dir(self.root())?)
    }

    /// Filter programs, such as git-lfs, are run by git, so git does the checkout, with a copy of the index.
    fn checkout_with_git(
        &self,
        operation: &mut Operation,
        base: Option<&git2::Tree<'_>>,
        tree: &git2::Tree<'_>,
    ) -> Result<Option<PathBuf>, Error> {
        let Some(base) = base else {
            return Ok(None);
        };
        let index = self.prepare_index(operation, &[], base.id())?;
        operation.leave_unfinished();
        let (old, new) = (base.id().to_string(), tree.id().to_string());
        let call = self.git(["read-tree", "-m", "-u", &old, &new])?;
        let call = call.set_env("GIT_INDEX_FILE", index.to_string_lossy());
        call.run_checked("check out")?;
        fs::sync_file(&index)?;
        operation.finish();
        Ok(Some(index))
    }
}

fn is_blob(entry: &git2::TreeEntry<'_>) -> bool {
    entry.kind() == Some(ObjectType::Blob)
}

/// Replaces a file of the working tree by a staged one.
fn replace_file(root: &Beneath, staged: &Path, file: &Path, is_program: bool) -> Result<(), Error> {
    if let Some(parent) = file.parent() {
        root.create_dir_all(parent)?;
    }
    let old = root.info(file)?;
    if old.is_some_and(|old| old.kind == EntryKind::Folder) {
        root.remove_dir_all(file)?;
    }
    if fs::is_symlink(staged) {
        return Ok(root.replace_with_link(file, &fs::read_link(staged)?)?);
    }
    let old = old.filter(|old| old.kind == EntryKind::File);
    if old.is_none() {
        root.remove_file_if_exists(file)?;
    }
    let mode = old.map_or(FILE_MODE, |old| old.mode);
    let mode = if is_program {
        // Those who may read a program may run it.
        mode | (mode & 0o444) >> 2
    } else {
        mode & !PROGRAM_BITS
    };
    let text = fs::read(staged)?;
    // The staged file has its final content and mode, so that its name is all that changes. It may be on another file
    // system.
    fs::write_atomic(staged, &text, Some(mode))?;
    match root.rename(staged, file) {
        Ok(()) => Ok(()),
        Err(_) => Ok(root.write_atomic(file, &text, Some(mode))?),
    }
}
