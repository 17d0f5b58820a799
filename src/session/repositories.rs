//! Determines the git repositories that belong to an ensemble.

use std::path::{Path, PathBuf};

use super::loader::folder_of_repository;
use super::session::Session;
use crate::git::{Error, Repository};
use crate::project::{LocatedEnsemble, folder_of_clone};
use crate::yaml::Node;

/// A repository, or a folder in it, with its role for the ensemble.
#[derive(Debug)]
pub(crate) struct InvolvedRepository {
    /// `self` for the ensemble's repository, `spec` for the project's, or the declared name.
    pub(crate) name: String,
    pub(crate) repository: Repository,
    /// The folder relative to the root of the working tree; empty for the root itself.
    pub(crate) folder: PathBuf,
}

impl InvolvedRepository {
    /// Returns the folder in the format that Unfurl shows.
    pub(crate) fn display_path(&self) -> String {
        let root = self.repository.root().display();
        format!("{root}/{}", self.folder.display())
    }
}

/// Returns the repositories of the project and the ensemble, then the declared ones (environment, service
/// template) that exist locally. Folders outside of git are skipped.
pub(crate) fn involved_repositories(session: &Session) -> Result<Vec<InvolvedRepository>, Error> {
    let base = session.manifest.base_dir();
    let mut all = of_folders(&session.project, base)?;
    let project = Some(session.project.as_path());
    let environment = session.environment.repositories().and_then(Node::as_map);
    let environment = environment
        .into_iter()
        .flatten()
        .map(|(name, entry)| (name, &entry.value));
    for (name, node) in environment.chain(&session.service.repositories) {
        let url = || node.as_str().or_else(|| node.get("url")?.as_str());
        // A folder that the project names is foreign unless the project may read it.
        let named = folder_of_repository(node, base);
        let folder = named
            .filter(|folder| session.scope.contains(folder))
            .or_else(|| folder_of_clone(url()?, base, project));
        if let Some(folder) = folder {
            add(&mut all, name, &folder)?;
        }
    }
    Ok(all)
}

/// Returns the repositories of the project and the ensemble without reading the ensemble.
pub(crate) fn repositories_of(located: &LocatedEnsemble) -> Result<Vec<InvolvedRepository>, Error> {
    let folder = located.folder();
    of_folders(located.root().unwrap_or(folder), folder)
}

fn of_folders(project: &Path, base: &Path) -> Result<Vec<InvolvedRepository>, Error> {
    let mut all = Vec::new();
    if project != base {
        add(&mut all, "spec", project)?;
    }
    add(&mut all, "self", base)?;
    Ok(all)
}

/// Returns the repository that contains a folder; `None` if there is none.
pub(crate) fn repository_at(
    name: &str,
    folder: &Path,
) -> Result<Option<InvolvedRepository>, Error> {
    let mut all = Vec::new();
    add(&mut all, name, folder)?;
    Ok(all.pop())
}

fn add(all: &mut Vec<InvolvedRepository>, name: &str, folder: &Path) -> Result<(), Error> {
    let Some(repository) = Repository::discover(folder)? else {
        return Ok(());
    };
    let folder = repository.relative(folder).unwrap_or_default();
    let known =
        |it: &InvolvedRepository| it.repository.root() == repository.root() && it.folder == folder;
    if !all.iter().any(known) {
        all.push(InvolvedRepository {
            name: name.to_owned(),
            repository,
            folder,
        });
    }
    Ok(())
}

/// Removes duplicates: several folders can belong to the same repository.
pub(crate) fn distinct_repositories(all: Vec<InvolvedRepository>) -> Vec<Repository> {
    let mut each: Vec<Repository> = Vec::new();
    for involved in all {
        if each
            .iter()
            .all(|it| it.root() != involved.repository.root())
        {
            each.push(involved.repository);
        }
    }
    each
}
