//! The git repositories of a project and an ensemble, found without reading the ensemble.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::git::{Error, Repository};
use crate::project::{LocatedEnsemble, Trust};

/// The maximum number of settings named in a message.
const MAX_NAMED_SETTINGS: usize = 10;

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

/// Returns the repositories of the project and the ensemble without reading the ensemble.
pub(crate) fn repositories_of(located: &LocatedEnsemble) -> Result<Vec<InvolvedRepository>, Error> {
    let folder = located.folder();
    of_folders(located.root().unwrap_or(folder), folder, &located.trust)
}

pub(super) fn of_folders(
    project: &Path,
    base: &Path,
    trust: &Trust,
) -> Result<Vec<InvolvedRepository>, Error> {
    let mut all = Vec::new();
    if project != base {
        add(&mut all, "spec", project, trust)?;
    }
    add(&mut all, "self", base, trust)?;
    Ok(all)
}

/// Returns the repository that contains a folder; `None` if there is none.
pub(crate) fn repository_at(
    name: &str,
    folder: &Path,
    trust: &Trust,
) -> Result<Option<InvolvedRepository>, Error> {
    let mut all = Vec::new();
    add(&mut all, name, folder, trust)?;
    Ok(all.pop())
}

pub(super) fn add(
    all: &mut Vec<InvolvedRepository>,
    name: &str,
    folder: &Path,
    trust: &Trust,
) -> Result<(), Error> {
    let Some(repository) = Repository::discover(folder)? else {
        return Ok(());
    };
    let repository = repository.trusted_if(|root| trust.covers(root));
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

/// Whether the user trusts the repository around a folder.
pub(crate) fn trusts_repository_of(located: &LocatedEnsemble, folder: &Path) -> bool {
    let repository = Repository::discover(folder).ok().flatten();
    repository.is_some_and(|repository| located.trust.covers(repository.root()))
}

/// Returns a warning about settings of repositories that have no effect, because the user does not trust them.
pub(crate) fn ignored_settings(all: &[InvolvedRepository]) -> Diagnostics {
    let mut warnings = Diagnostics::default();
    let mut seen: Vec<&Path> = Vec::new();
    for repository in all.iter().map(|involved| &involved.repository) {
        let ignored = repository.ignored_settings();
        if seen.contains(&repository.root()) || ignored.is_empty() {
            continue;
        }
        seen.push(repository.root());
        let root = repository.root().display();
        let more = ignored.len().saturating_sub(MAX_NAMED_SETTINGS);
        let mut names: Vec<String> = ignored
            .iter()
            .take(MAX_NAMED_SETTINGS)
            .map(|name| format!("`{name}`"))
            .collect();
        names.extend((more > 0).then(|| format!("{more} more")));
        let message = format!(
            "git settings of the repository `{root}` are ignored, because the project is not trusted: {}",
            names.join(", ")
        );
        let help = format!("if you trust it, run `unfurl trust {root}`");
        warnings.push(Diagnostic::warning(message).help(help));
    }
    warnings
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
