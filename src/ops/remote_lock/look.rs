//! Looks at the lock for people, and breaks it.

use std::path::Path;

use super::place::{Place, Refusal, is_noted};
use crate::git::lfs::LfsLock;
use crate::lock::LockMode;
use crate::ops::failure::Failure;
use crate::ops::request::SessionOptions;
use crate::ops::session;
use crate::system::fs;

/// The lock of an ensemble for all machines, for those who look.
#[derive(Debug)]
pub struct RemoteListed {
    /// Its name and the server that has it; none where no server can be found.
    pub place: Option<(String, String)>,
    /// Who holds it; an error says why nobody can tell.
    pub holder: Result<Option<LfsLock>, String>,
    /// Whether a job here took it.
    pub is_ours: bool,
}

impl RemoteListed {
    /// How it is, in words.
    pub fn words(&self) -> String {
        let how = match &self.holder {
            Ok(Some(lock)) if self.is_ours => format!("held by {lock}, for a job here"),
            Ok(Some(lock)) => format!("held by {lock}"),
            Ok(None) => "free".to_owned(),
            Err(error) => format!("cannot be looked at: {error}"),
        };
        match &self.place {
            Some((path, server)) => format!("for all machines, `{path}` on `{server}`: {how}"),
            None => format!("for all machines: {how}"),
        }
    }
}

/// Looks at the lock of an ensemble for all machines; none if its environment asks for no such
/// lock, or cannot be read. Takes nothing.
pub(in crate::ops) fn look(options: &SessionOptions, manifest: &Path) -> Option<RemoteListed> {
    let options = SessionOptions {
        ensemble: manifest.display().to_string(),
        ..options.clone()
    };
    let mut place = match find(&options).ok()?? {
        Ok(place) => place,
        Err(error) => {
            return Some(RemoteListed {
                place: None,
                holder: Err(error),
                is_ours: false,
            });
        }
    };
    let path = place.path.clone();
    let holder = place.client.find(&path).map_err(|error| error.to_string());
    let noted = place.noted().and_then(|note| note.lock);
    let held = holder.as_ref().ok().and_then(Option::as_ref);
    Some(RemoteListed {
        is_ours: held.is_some_and(|lock| is_noted(noted.as_ref(), lock)),
        place: Some((path, place.client.server())),
        holder,
    })
}

/// Frees the lock of an ensemble for all machines: one that a job here has left, with `force`
/// whoever holds it. Says what became of it; none if its environment asks for no such lock, or
/// nobody holds it.
pub(in crate::ops) fn break_it(options: &SessionOptions, force: bool) -> Option<String> {
    let failed = |error: String| format!("the lock for all machines is not broken: {error}");
    let mut place = match find(options) {
        Ok(None) => return None,
        Ok(Some(Ok(place))) => place,
        Ok(Some(Err(error))) => return Some(failed(error)),
        Err(failure) => return Some(failed(failure.to_string())),
    };
    let path = place.path.clone();
    let lock = match place.client.find(&path) {
        Ok(lock) => lock?,
        Err(error) => return Some(failed(error.to_string())),
    };
    let noted = place.noted().and_then(|note| note.lock);
    if !force && !is_noted(noted.as_ref(), &lock) {
        return Some(format!(
            "the lock for all machines stays, for it is held by {lock}; `--force` breaks it"
        ));
    }
    if let Err(error) = place.client.unlock(&lock, force) {
        return Some(failed(error.to_string()));
    }
    fs::remove_file_if_exists(&place.note).ok();
    Some(format!(
        "the lock for all machines is broken; it was held by {lock}"
    ))
}

/// Finds the lock of an ensemble without reading what the ensemble describes; an error says why
/// no server can be asked.
fn find(options: &SessionOptions) -> Result<Option<Result<Place, String>>, Failure> {
    let found = session::find(options)?;
    let (manifest, environment) = session::surroundings(&found)?;
    if environment.remote_lock.mode == LockMode::No {
        return Ok(None);
    }
    let place = Place::of(&environment, &manifest, &found.env);
    Ok(Some(place.map_err(|refusal| match refusal {
        Refusal::Failure(failure) => failure.to_string(),
        Refusal::Unavailable(error) => error.to_string(),
    })))
}
