//! A new repository with its first commit, if git knows the user.

use std::path::{Path, PathBuf};

use super::staging::write_files;
use crate::git::{Error, Repository};
use crate::ops::failure::Failure;
use crate::skeleton::{NewFile, Skeleton, git_files, random_uuid};

/// A repository that was created or that got commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MadeRepository {
    pub folder: PathBuf,
    /// Whether the repository was created.
    pub is_new: bool,
    /// The new commits, the first one first.
    pub commits: Vec<String>,
}

/// A new repository, or the one around a new project.
#[derive(Debug)]
pub struct NewRepository {
    pub repository: Repository,
    /// The id of the first commit; `None` if nothing can be committed.
    pub first_commit: Option<String>,
    /// The files of git that were written.
    pub files: Vec<NewFile>,
    /// The reason why nothing can be committed.
    pub refusal: Option<String>,
    commits: Vec<String>,
    is_new: bool,
}

impl NewRepository {
    /// Creates a repository with a first commit. `excluded` are patterns for this clone only.
    ///
    /// Without an identity, and if commits cannot be signed, the repository stays without commits.
    pub fn create(
        folder: &Path,
        excluded: &[String],
        skeleton: &Skeleton,
    ) -> Result<Self, Failure> {
        let repository = Repository::create(folder, excluded)?;
        let files = git_files(skeleton)?;
        write_files(folder, &files)?;
        let mut made = Self {
            repository,
            first_commit: None,
            files,
            refusal: None,
            commits: Vec::new(),
            is_new: true,
        };
        let paths: Vec<PathBuf> = made
            .files
            .iter()
            .map(|file| folder.join(&file.path))
            .collect();
        made.commit(&paths, &format!("Initial Commit for {}", random_uuid()?))?;
        made.first_commit = made.commits.first().cloned();
        made.repository.tag_first_commit()?;
        Ok(made)
    }

    /// Creates a repository without a first commit.
    pub fn empty(folder: &Path) -> Result<Self, Failure> {
        Ok(Self {
            is_new: true,
            ..Self::existing(Repository::create(folder, &[])?)
        })
    }

    /// Uses a repository that exists.
    pub fn existing(repository: Repository) -> Self {
        Self {
            first_commit: repository.first_commit(),
            repository,
            files: Vec::new(),
            refusal: None,
            commits: Vec::new(),
            is_new: false,
        }
    }

    /// Commits all changes below a folder that git does not ignore.
    pub fn commit_all(&mut self, folder: &Path, message: &str) -> Result<(), Failure> {
        self.commit_with(folder, Vec::new(), message)
    }

    /// Like [`Self::commit_all`], with more paths, such as submodules.
    pub(super) fn commit_with(
        &mut self,
        folder: &Path,
        mut paths: Vec<PathBuf>,
        message: &str,
    ) -> Result<(), Failure> {
        let changes = self.repository.file_changes(&[folder])?;
        paths.extend(changes.iter().map(|path| self.repository.root().join(path)));
        self.commit(&paths, message)
    }

    /// Commits files. A repository that cannot commit stays as it is, and remembers the reason.
    pub fn commit(&mut self, paths: &[PathBuf], message: &str) -> Result<(), Failure> {
        if self.refusal.is_some() {
            return Ok(());
        }
        match self.repository.commit(paths, message) {
            Ok(outcome) => self.commits.extend(outcome.map(|outcome| outcome.id)),
            Err(Error::NoIdentity { .. }) => {
                self.refusal = Some("git does not know your name and e-mail address".to_owned());
            }
            Err(error @ (Error::SigningFailed { .. } | Error::UntrustedSigner { .. })) => {
                self.refusal = Some(error.to_string());
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Returns the URL of a path in the repository; `None` without commits.
    pub fn url_of(&self, path: &Path) -> Option<String> {
        let relative = self.repository.relative(path)?;
        let relative = relative.display().to_string();
        let relative = if relative.is_empty() { "." } else { &relative };
        Some(format!(
            "git-local://{}:/{relative}",
            self.first_commit.as_deref()?
        ))
    }

    /// Returns the repository for the report, at its final place.
    pub fn report(&self, folder: &Path) -> MadeRepository {
        MadeRepository {
            folder: folder.to_owned(),
            is_new: self.is_new,
            commits: self.commits.clone(),
        }
    }
}
