//! Shows the state of the remote lock and breaks it (`unfurl lock list`, `unfurl lock break`).

use super::location::{LockLocation, is_noted};
use crate::git::lfs::{Error, LfsLock};
use crate::system::fs;

/// The state of an ensemble's remote lock.
#[derive(Debug)]
pub struct RemoteLockStatus {
    /// The lock's name and server; `None` if there is no server.
    pub location: Option<(String, String)>,
    /// The current lock, if one exists, or the reason why the state is unknown.
    pub holder: Result<Option<LfsLock>, String>,
    /// Whether a job in this folder took the lock.
    pub is_ours: bool,
}

impl RemoteLockStatus {
    /// Describes the state for the user.
    pub fn describe(&self) -> String {
        let state = match &self.holder {
            Ok(Some(lock)) if self.is_ours => format!("held by {lock}, for a job here"),
            Ok(Some(lock)) => format!("held by {lock}"),
            Ok(None) => "free".to_owned(),
            Err(error) => format!("unknown: {error}"),
        };
        match &self.location {
            Some((path, server)) => format!("remote lock `{path}` on `{server}`: {state}"),
            None => format!("remote lock: {state}"),
        }
    }
}

/// Reads the state of a lock, without taking it.
pub fn remote_lock_status(place: Result<LockLocation, Error>) -> RemoteLockStatus {
    let mut place = match place {
        Ok(place) => place,
        Err(error) => {
            return RemoteLockStatus {
                location: None,
                holder: Err(error.to_string()),
                is_ours: false,
            };
        }
    };
    let path = place.path.clone();
    let holder = place.client.find(&path).map_err(|error| error.to_string());
    let noted = place.read_note().and_then(|note| note.lock);
    let held = holder.as_ref().ok().and_then(Option::as_ref);
    RemoteLockStatus {
        is_ours: held.is_some_and(|lock| is_noted(noted.as_ref(), lock)),
        location: Some((path, place.client.server())),
        holder,
    }
}

/// Removes a lock that a job in this folder left, or any lock with `force`. Returns a message; `None` if
/// there is no lock.
pub fn break_remote_lock(place: Result<LockLocation, Error>, force: bool) -> Option<String> {
    match try_break(place, force) {
        Ok(text) => text,
        Err(error) => Some(format!("the remote lock was not broken: {error}")),
    }
}

fn try_break(place: Result<LockLocation, Error>, force: bool) -> Result<Option<String>, Error> {
    let mut place = place?;
    let path = place.path.clone();
    let Some(lock) = place.client.find(&path)? else {
        return Ok(None);
    };
    let noted = place.read_note().and_then(|note| note.lock);
    if !force && !is_noted(noted.as_ref(), &lock) {
        return Ok(Some(format!(
            "the remote lock was not broken, because it is held by {lock}; `--force` breaks it"
        )));
    }
    place.client.unlock(&lock, force)?;
    fs::remove_file_if_exists(&place.note).ok();
    Ok(Some(format!(
        "the remote lock is broken; it was held by {lock}"
    )))
}
