//! Determines the files that an ensemble may read.

use std::path::{Path, PathBuf};

use super::options::SessionOptions;
use crate::diagnostic::{Diagnostic, Sources, Span};
use crate::project::{
    self, Environment, FileLoader, LocatedEnsemble, OutsideError, PROJECT_FOLDER, ReadScope,
};
use crate::system::fs;
use crate::yaml::Node;

/// The largest manifest outside of the project that is looked at, in bytes.
const MAX_FOREIGN_BYTES: u64 = 64 << 20;

/// Adds the files of an ensemble to those that a loader may read: its project, its repository, its home project.
pub(super) fn add_own_files(
    located: &LocatedEnsemble,
    home: Option<&Path>,
    loader: &mut FileLoader<'_>,
) {
    loader.set_predefined_repositories(located.folder(), located.root());
    let scope = loader.scope();
    scope.add_file(&located.manifest);
    scope.add_repository_of(&located.manifest);
    let root = located.root().filter(|root| root.ends_with(PROJECT_FOLDER));
    let folders = [root.and_then(Path::parent), home];
    for folder in folders.into_iter().flatten() {
        scope.add_folder(folder);
    }
}

/// Adds the folders of the repositories that the home project declares. Those that the project itself
/// declares are read only where they lie in the project.
pub(super) fn add_repositories_of_home(
    environment: &Environment,
    base: &Path,
    options: &SessionOptions,
    loader: &mut FileLoader<'_>,
) {
    let repositories = environment.repositories().and_then(Node::as_map);
    for (_, entry) in repositories.into_iter().flatten() {
        let is_of_home = is_in_home(loader.sources(), entry.value.span(), options);
        if is_of_home && let Some(folder) = folder_of_repository(&entry.value, base) {
            loader.scope().add_folder(&folder);
        }
    }
}

/// Whether a text of the home project contains the location.
pub(super) fn is_in_home(sources: &Sources, span: Span, options: &SessionOptions) -> bool {
    let home = options.home.as_ref();
    let home = home.map(|home| project::home_project_folder(home, Path::new("")).0);
    let source = sources.get(span.source);
    source
        .zip(home)
        .is_some_and(|(source, home)| source.path.starts_with(home))
}

/// Returns an error if a project names a manifest outside of its own files that is no ensemble.
///
/// Projects may use ensembles of other projects, but no other file, of which a message could show a line.
pub(super) fn check_manifest(scope: &ReadScope, file: &Path) -> Result<(), Diagnostic> {
    match scope.resolve(file) {
        Err(error) if !is_ensemble(file) => {
            Err(Diagnostic::error(error).help(OutsideError::help()))
        }
        _ => Ok(()),
    }
}

/// Whether a file says that it is an ensemble.
fn is_ensemble(file: &Path) -> bool {
    let is_yaml = file
        .extension()
        .is_some_and(|end| end == "yaml" || end == "yml");
    let is_candidate = is_yaml && fs::is_file(file);
    let text = is_candidate.then(|| fs::read_within(file, MAX_FOREIGN_BYTES).ok());
    let text = text.flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    ["apiVersion", "unfurl/v1", "Ensemble"]
        .iter()
        .all(|word| text.contains(word))
}

/// Returns the local folder of a repository with a `file:` URL.
pub(crate) fn folder_of_repository(repository: &Node, base: &Path) -> Option<PathBuf> {
    let url = repository
        .as_str()
        .or_else(|| repository.get("url")?.as_str())?;
    let path = url.strip_prefix("file:")?;
    Some(fs::absolute(Path::new(path), base))
}
