//! Updates the user's index after a commit that was created without it.

use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid};

use super::Error;
use super::repository::Repository;

impl Repository {
    /// Sets the index entries of these files, and no others, to those of a tree.
    ///
    /// Returns warnings instead of errors, because the commit already exists.
    pub(super) fn refresh_index(&self, files: &[PathBuf], tree: Oid) -> Vec<String> {
        let Err(error) = self.update_index(files, tree) else {
            return Vec::new();
        };
        let lock = self.inner.path().join("index.lock");
        let reason = if error.code() == ErrorCode::Locked {
            format!("the lock file `{}` exists", lock.display())
        } else {
            match self.update_index_with_git(files) {
                Ok(()) => return Vec::new(),
                Err(second) => format!("{}; {second}", error.message()),
            }
        };
        vec![format!(
            "the commit was created, but `git status` will show its files as changed, because \
             git's index could not be updated: {reason}; if no git process is running, delete \
             `index.lock` and run `git reset`"
        )]
    }

    fn update_index(&self, files: &[PathBuf], tree: Oid) -> Result<(), git2::Error> {
        let tree = self.inner.find_tree(tree)?;
        let mut index = self.inner.index()?;
        index.read(true)?;
        let mut by_program = Vec::new();
        let is_file = |file: &&PathBuf| {
            let entry = tree.get_path(file);
            entry.is_ok_and(|entry| entry.kind() != Some(git2::ObjectType::Tree))
        };
        let (there, removed): (Vec<_>, Vec<_>) = files.iter().partition(is_file);
        // Remove first, so that a folder can replace a file.
        for file in removed {
            index.remove_path(file)?;
        }
        for file in there {
            let entry = tree.get_path(file)?;
            if self.has_filter(file) {
                by_program.push(file.clone());
                continue;
            }
            let taken = index.add_path(file);
            let same = |index: &git2::Index| {
                index
                    .get_path(file, 0)
                    .is_some_and(|it| it.id == entry.id())
            };
            // The file has changed or disappeared since the commit; the new change must not be staged.
            if taken.is_err() || !same(&index) {
                let mode = u32::try_from(entry.filemode()).unwrap_or_default();
                index.add(&unstatted_entry(file, entry.id(), mode))?;
            }
        }
        index.write()?;
        if !by_program.is_empty() && self.update_index_with_git(&by_program).is_err() {
            return Err(git2::Error::from_str(
                "git could not add files with filters",
            ));
        }
        Ok(())
    }

    /// Updates the index with the git program, which supports index formats that libgit2 does not.
    fn update_index_with_git(&self, files: &[PathBuf]) -> Result<(), Error> {
        use std::os::unix::ffi::OsStrExt as _;
        let mut list = Vec::new();
        for file in files {
            list.extend(file.as_os_str().as_bytes());
            list.push(0);
        }
        let words = [
            "update-index",
            "--add",
            "--remove",
            "--replace",
            "-z",
            "--stdin",
        ];
        let call = self.git(words)?.stdin(&list);
        call.run_checked("update the index").map(drop)
    }
}

/// Creates an index entry without file metadata, so that git compares the file's content.
pub(super) fn unstatted_entry(path: &Path, id: Oid, mode: u32) -> git2::IndexEntry {
    use std::os::unix::ffi::OsStrExt as _;
    let never = git2::IndexTime::new(0, 0);
    git2::IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_os_str().as_bytes().to_owned(),
    }
}
