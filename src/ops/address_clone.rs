//! Clones a repository from an address that the user has typed, through the cache of this user.

use std::path::Path;

use super::failure::Failure;
use crate::git::{CloneRequest, Cloned, clone_repository};
use crate::package::SourceUrl;
use crate::project::CloneCache;
use crate::system::env::Env;

/// Clones the repository of an address into a new folder. `notes` gets remarks for the user.
///
/// If the remote cannot be reached, the state of the last fetch is used.
pub(super) fn clone_from_address(
    url: &SourceUrl,
    folder: &Path,
    notes: &mut Vec<String>,
) -> Result<Cloned, Failure> {
    let mut url = SourceUrl {
        path: String::new(),
        ..url.clone()
    };
    let login = url.take_login();
    let address = SourceUrl {
        revision: None,
        ..url.clone()
    };
    let cache = CloneCache::of_user(&Env::of_this_process())?;
    let locked = cache.lock(&address)?;
    let mirror = &locked.mirror;
    let is_commit = url
        .revision
        .as_ref()
        .is_some_and(|name| name.len() == 40 && mirror.has(name));
    if !is_commit && let Err(error) = mirror.update(login.as_ref()) {
        if !locked.is_known || mirror.resolve(url.revision.as_deref()).is_none() {
            return Err(error.into());
        }
        notes.push(format!(
            "the state is that of the last fetch, because {error}"
        ));
    }
    if login.is_some_and(|login| login.password.is_some()) {
        let note = "the password of the address is not stored in the clone: use a credential helper of git";
        notes.push(note.to_owned());
    }
    let cloned = clone_repository(&CloneRequest {
        source: mirror.folder(),
        origin: &address.address,
        target: folder,
        revision: url.revision.as_deref(),
        commit: None,
    })?;
    Ok(cloned)
}
