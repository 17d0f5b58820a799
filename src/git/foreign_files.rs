//! Refuses to write outside of a repository through links in a `.git` folder that came with the project.

use std::path::{Path, PathBuf};

use super::Error;
use super::repository::Repository;
use super::special_files;
use crate::system::fs::{self, EntryKind, WalkLimits};

/// Files and folders in a `.git` folder that commits and fetches write.
const WRITTEN: [&str; 14] = [
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "COMMIT_EDITMSG",
    "config",
    "config.worktree",
    "index",
    "info",
    "logs",
    "objects",
    "packed-refs",
    "refs",
    "shallow",
    "unfurl",
];

impl Repository {
    /// Refuses to write to the `.git` folder if a pipe or a device would make git wait for ever. Unless the
    /// project is trusted, also refuses links there, and a `.git` file that names the git folder of another
    /// working tree.
    pub(super) fn check_git_folder(&self) -> Result<(), Error> {
        let folders = [self.inner.path(), self.inner.commondir()];
        if !self.is_trusted {
            self.check_owner_of_git_folder(folders)?;
        }
        let folders = if folders[0] == folders[1] {
            &folders[..1]
        } else {
            &folders[..]
        };
        for folder in folders {
            for name in WRITTEN {
                self.check_written(&folder.join(name))?;
            }
            for name in ["refs", "logs"] {
                let below = folder.join(name);
                if fs::is_dir(&below) {
                    for entry in fs::walk(&below, WalkLimits::default())? {
                        self.check_kind(&entry.path, entry.kind)?;
                    }
                }
            }
        }
        for entry in fs::list(&self.inner.commondir().join("objects"))? {
            self.check_kind(&entry.path, entry.kind)?;
        }
        Ok(())
    }

    fn check_written(&self, path: &Path) -> Result<(), Error> {
        fs::refuse_special(path)?;
        if fs::is_symlink(path) {
            self.check_kind(path, EntryKind::Link)?;
        }
        Ok(())
    }

    fn check_kind(&self, path: &Path, kind: EntryKind) -> Result<(), Error> {
        match kind {
            EntryKind::Link if !self.is_trusted => Err(Error::UntrustedLink {
                path: self.root().to_owned(),
                link: path.to_owned(),
            }),
            EntryKind::Link | EntryKind::Other => Ok(fs::refuse_special(path)?),
            EntryKind::File | EntryKind::Folder => Ok(()),
        }
    }

    /// Fails if `.git` leads to the git folder of another working tree. The git folder of a linked working tree
    /// lies in the one that it shares and names its working tree, as that of a submodule does.
    fn check_owner_of_git_folder(&self, [own, shared]: [&Path; 2]) -> Result<(), Error> {
        let (own, shared) = (fs::canonicalize(own)?, fs::canonicalize(shared)?);
        let is_own = shared.starts_with(self.root())
            || (own.starts_with(&shared)
                && self.is_working_tree_of(&own, &self.root().join(".git")));
        if is_own {
            return Ok(());
        }
        Err(Error::ForeignGitFolder {
            path: self.root().to_owned(),
            folder: shared,
        })
    }

    fn is_working_tree_of(&self, folder: &Path, entry: &Path) -> bool {
        let same = |path: PathBuf, expected: &Path| {
            fs::canonicalize(&folder.join(path)).is_ok_and(|path| path == expected)
        };
        let linked = special_files::pointer(&folder.join("gitdir"), "");
        let work_tree = self
            .inner
            .config()
            .and_then(|config| config.get_path("core.worktree"));
        linked.is_some_and(|path| same(path, entry))
            || work_tree.is_ok_and(|path| same(path, self.root()))
    }
}
