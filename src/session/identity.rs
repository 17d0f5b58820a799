//! What tells an ensemble from all others, in every clone of it.

use super::loaded::Session;
use crate::git::Repository;
use crate::system::fs;

/// The ensemble's own URI; else the first commit of its repository and its place in it; else its
/// place on this machine.
pub(crate) fn of(session: &Session) -> String {
    let manifest = &session.manifest;
    let metadata = manifest.root().get("metadata");
    let uri = metadata.and_then(|metadata| metadata.get("uri")?.as_str());
    if let Some(uri) = uri {
        return uri.to_owned();
    }
    let path = manifest.path();
    let in_repository = || {
        let repository = Repository::discover(manifest.base_dir()).ok().flatten()?;
        let first = repository.first_commit()?;
        let place = repository.relative(path)?;
        Some(format!("{first}:{}", place.display()))
    };
    in_repository().unwrap_or_else(|| {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        path.display().to_string()
    })
}
