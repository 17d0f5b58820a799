//! Clones a repository from an address that the user has typed, through the cache of this user.

use std::path::Path;

use super::failure::Failure;
use super::open_mirror::OpenMirror;
use crate::git::{CloneRequest, Cloned, clone_repository};
use crate::package::SourceUrl;

/// Clones the repository of an address into a new folder. `notes` gets remarks for the user.
///
/// If the remote cannot be reached, the state of the last fetch is used.
pub(super) fn clone_from_address(
    url: &SourceUrl,
    folder: &Path,
    notes: &mut Vec<String>,
) -> Result<Cloned, Failure> {
    let revision = url.revision.as_deref();
    let opened = OpenMirror::open(&SourceUrl {
        revision: None,
        ..url.clone()
    })?;
    let mirror = opened.mirror();
    let is_commit = revision.is_some_and(|name| name.len() == 40 && mirror.has(name));
    if !is_commit {
        notes.extend(opened.update(revision)?);
    }
    notes.extend(opened.password_note().map(str::to_owned));
    let cloned = clone_repository(&CloneRequest {
        source: mirror.folder(),
        origin: &opened.url.address,
        target: folder,
        revision,
        commit: None,
    })?;
    Ok(cloned)
}
