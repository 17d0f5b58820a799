//! Finds changed files with the git program, which supports formats of the index that libgit2 does not.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::Error;
use super::repository::Repository;

/// The length of the status before each path.
const STATUS_LENGTH: usize = 3;

impl Repository {
    /// Whether libgit2 can read the index.
    pub(super) fn is_index_readable(&self) -> bool {
        let index = self.inner.index();
        index.is_ok_and(|mut index| index.read(false).is_ok())
    }

    /// Does the same as [`Self::changes`].
    pub(super) fn changes_with_git(&self, paths: &[&Path]) -> Result<Vec<PathBuf>, Error> {
        let mut words = vec!["--untracked-files=all".to_owned(), "--".to_owned()];
        for path in paths {
            let path = self.path_in_repository(path)?;
            let name = path.to_str().ok_or_else(|| {
                let message = "the name of a file is not valid UTF-8";
                Error::refused("compare", self.root(), message)
            })?;
            words.push(name.to_owned());
        }
        self.status_of(words)
    }

    /// Does the same as [`Self::uncommitted`].
    pub(super) fn uncommitted_with_git(&self) -> Result<Vec<PathBuf>, Error> {
        self.status_of(vec!["--untracked-files=no".to_owned()])
    }

    fn status_of(&self, words: Vec<String>) -> Result<Vec<PathBuf>, Error> {
        let fixed = [
            "--literal-pathspecs",
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
        ];
        let words = fixed.map(str::to_owned).into_iter().chain(words);
        let output = self.git(words)?.run_checked("compare")?;
        let entries = output.stdout.split(|byte| *byte == 0);
        let paths = entries.filter_map(|entry| entry.get(STATUS_LENGTH..));
        let paths = paths.filter(|path| !path.is_empty());
        Ok(paths
            .map(|path| PathBuf::from(OsStr::from_bytes(path)))
            .collect())
    }
}
