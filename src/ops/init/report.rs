//! The result of `unfurl init`: everything that was made, and the next command.

use std::path::{Path, PathBuf};

use super::new_repository::{MadeRepository, NewRepository};
use crate::skeleton::NewFile;

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    pub path: PathBuf,
    pub purpose: &'static str,
    /// Whether the file existed and was changed.
    pub is_change: bool,
}

/// The thing that was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    /// A project, with its file.
    Project(PathBuf),
    /// An ensemble, with its folder.
    Ensemble(PathBuf),
    /// A folder without a project and without an ensemble.
    Folder(PathBuf),
}

/// The result of `unfurl init`.
#[derive(Debug, Clone)]
pub struct InitReport {
    pub made: Made,
    pub files: Vec<WrittenFile>,
    pub repositories: Vec<MadeRepository>,
    /// The reason why repositories have no commits, and their folders, the innermost one last.
    pub uncommitted: Option<(String, Vec<PathBuf>)>,
    /// Other facts that the user should know.
    pub notes: Vec<String>,
    /// The folder to work in, and the command to run there.
    pub next: (PathBuf, &'static str),
}

impl InitReport {
    pub(super) fn new(made: Made, folder: PathBuf, command: &'static str) -> Self {
        Self {
            made,
            files: Vec::new(),
            repositories: Vec::new(),
            uncommitted: None,
            notes: Vec::new(),
            next: (folder, command),
        }
    }

    /// Adds files of a new folder.
    pub(super) fn add_files(&mut self, files: &[NewFile], folder: &Path) {
        self.files.extend(files.iter().map(|file| WrittenFile {
            path: folder.join(&file.path),
            purpose: file.purpose,
            is_change: false,
        }));
    }

    /// Adds a repository, and the way to commit later if it has no identity.
    pub(super) fn add_repository(&mut self, repository: &NewRepository, folder: &Path) {
        self.repositories.push(repository.report(folder));
        if let Some(reason) = &repository.refusal {
            let folder = folder.to_owned();
            match &mut self.uncommitted {
                Some((_, folders)) => folders.push(folder),
                None => self.uncommitted = Some((reason.clone(), vec![folder])),
            }
        }
    }

    /// Adds the parts of another result; the next command stays in this folder.
    pub(super) fn add_ensemble(&mut self, ensemble: Self) {
        for file in ensemble.files {
            if !self.files.contains(&file) {
                self.files.push(file);
            }
        }
        self.repositories.extend(ensemble.repositories);
        self.notes.extend(ensemble.notes);
        self.uncommitted = self.uncommitted.take().or(ensemble.uncommitted);
        self.next.1 = ensemble.next.1;
    }

    /// Adds a change of an existing file.
    pub(super) fn add_change(&mut self, path: PathBuf, purpose: &'static str) {
        if !self.files.iter().any(|file| file.path == path) {
            self.files.push(WrittenFile {
                path,
                purpose,
                is_change: true,
            });
        }
    }
}
