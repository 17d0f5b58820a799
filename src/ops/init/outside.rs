//! The repository around a new folder, which leaves the folder out.

use std::path::{Path, PathBuf};

use super::report::InitReport;
use crate::git::{Error, Repository};
use crate::ops::failure::Failure;

/// The purpose of a list of excluded files.
const PURPOSE: &str = "leaves the new folder out of the repository around it, in this clone";

/// The repository around a new folder.
#[derive(Debug)]
pub(super) struct OuterRepository {
    root: Option<PathBuf>,
    /// The repository belongs to another user, so that it is not changed.
    is_foreign: bool,
}

impl OuterRepository {
    /// Looks for a repository around a folder.
    pub(super) fn of(folder: &Path) -> Result<Self, Failure> {
        let (root, is_foreign) = match Repository::discover(folder) {
            Ok(found) => (found.map(|found| found.root().to_owned()), false),
            Err(Error::ForeignOwner { .. } | Error::ForeignWorkTree { .. }) => (None, true),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { root, is_foreign })
    }

    /// Opens the repository.
    pub(super) fn reopen(&self) -> Result<Option<Repository>, Failure> {
        match &self.root {
            Some(root) => Ok(Repository::discover(root)?),
            None => Ok(None),
        }
    }

    /// Makes the repository leave out a folder with a repository of its own.
    pub(super) fn exclude(&self, folder: &Path, report: &mut InitReport) -> Result<(), Failure> {
        if self.is_foreign {
            report.notes.push(format!(
                "the repository around `{}` belongs to another user, so it still lists the new folder as untracked",
                folder.display()
            ));
        }
        let Some(repository) = self.reopen()? else {
            return Ok(());
        };
        let Ok(relative) = folder.strip_prefix(repository.root()) else {
            return Ok(());
        };
        if repository.ensure_excluded(&[(&exclude_pattern(relative), folder)])? {
            report.add_change(repository.exclude_file(), PURPOSE);
        }
        Ok(())
    }
}

/// Returns the pattern that makes git ignore exactly one folder, given relative to the root of the repository.
pub(in crate::ops) fn exclude_pattern(folder: &Path) -> String {
    let mut pattern = String::from("/");
    for character in folder.display().to_string().chars() {
        if "*?[\\ ".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}
