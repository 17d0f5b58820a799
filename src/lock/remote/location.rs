//! Takes and releases the remote lock of an ensemble, and notes it in a file beside the ensemble.
//!
//! [`LockLocation`] identifies the lock on its server. With the note, the next job recognizes the lock of a
//! job that was killed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::settings::{LockNameParts, RemoteLockSettings};
use crate::diagnostic::Diagnostic;
use crate::git::Repository;
use crate::git::lfs::{Client, Error, FoundLock, LfsLock, LockOutcome, ReleaseOutcome};
use crate::lock::error::break_command;
use crate::lock::wait::LockWait;
use crate::system::env::Env;
use crate::system::fs::{self, Beneath};
use crate::system::{clock, machine};
use crate::text;

/// The interval between requests for a lock that another user holds.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The maximum number of bytes read from a note; usual ones have 300.
const MAX_NOTE_BYTES: u64 = 1 << 20;

/// A remote lock held by this process.
#[derive(Debug)]
#[must_use = "the lock stays on the server until it is released"]
pub struct HeldRemoteLock {
    location: LockLocation,
    lock: LfsLock,
}

/// The ensemble to lock, with its settings.
#[derive(Debug, Clone, Copy)]
pub struct RemoteLockRequest<'a> {
    pub settings: &'a RemoteLockSettings,
    pub environment: Option<&'a str>,
    pub manifest: &'a Path,
    pub base_dir: &'a Path,
    /// The URI of the ensemble; may be empty.
    pub uri: &'a str,
    /// The environment variables of this process.
    pub env: &'a Env,
    /// Whether the user trusts the repository of the ensemble.
    pub is_trusted: bool,
}

/// The server and name of a remote lock, and the path of its note.
#[derive(Debug)]
pub struct LockLocation {
    pub(super) client: Client,
    pub(super) path: String,
    manifest: PathBuf,
    pub(super) note: PathBuf,
    /// Whether `lfs_lock` configures a server that git-lfs itself would not use.
    is_other_server: bool,
}

/// The note about a lock, written before the request and again once the lock is granted, so that the next job
/// recognizes it if this one is killed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LockNote {
    /// The host where the lock was taken.
    host: String,
    /// The path of the ensemble. In a copy of the folder, the note is not valid.
    ensemble: PathBuf,
    server: String,
    #[serde(rename = "asked")]
    requested_at: String,
    /// The lock; `None` while the server's response is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lock: Option<LfsLock>,
}

/// A request for a lock whose answer was lost or makes no sense.
struct LostAnswer {
    error: Error,
    /// The lock on another path that the answer describes.
    other: Option<LfsLock>,
    sent_at: Timestamp,
    lost_at: Timestamp,
    /// Whether no earlier job left a note.
    is_fresh: bool,
}

/// An error while taking a remote lock.
#[derive(Debug, thiserror::Error)]
pub enum RemoteLockError {
    /// The server cannot be used for locks.
    #[error("the remote lock cannot be taken: {0}")]
    Unavailable(#[from] Error),
    /// The server may have granted the lock, although no valid answer says so.
    #[error("the remote lock cannot be taken: {error}")]
    Doubtful {
        error: Error,
        /// A hint on how to release the lock.
        hint: String,
    },
    #[error("{message}")]
    HeldByOther {
        /// A message with the holder and the server.
        message: String,
        /// A hint on how to release the lock.
        hint: String,
    },
    /// The note cannot be written, so a later job could not recognize the lock.
    #[error(transparent)]
    Note(#[from] fs::Error),
}

impl RemoteLockError {
    /// Returns a hint on how to fix the problem, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unavailable(error) => Some(error.hint().to_owned()),
            Self::Doubtful { hint, .. } | Self::HeldByOther { hint, .. } => Some(hint.clone()),
            Self::Note(error) => error.hint(),
        }
    }
}

impl LockLocation {
    /// Determines the lock of an ensemble.
    ///
    /// # Errors
    ///
    /// No usable server is configured.
    pub fn of(locking: &RemoteLockRequest<'_>) -> Result<Self, Error> {
        let RemoteLockRequest { settings, env, .. } = *locking;
        let none = Error::NoServer;
        let found = Repository::discover(locking.base_dir);
        let repository = found.map_err(|error| none(error.to_string()))?;
        let repository = repository.ok_or_else(|| {
            none(
                "the ensemble is not in a git repository, so there is no git-lfs server".to_owned(),
            )
        })?;
        let repository = repository.trusted_if(|_| locking.is_trusted);
        let file = with_suffix(locking.manifest, ".lock");
        let local = repository.relative(&file).unwrap_or_else(|| file.clone());
        let path = settings.path(&LockNameParts {
            environment: locking.environment.unwrap_or("defaults"),
            ensemble_uri: locking.uri,
            local_lock_path: &local.to_string_lossy(),
        });
        let manifest = fs::canonicalize(locking.manifest);
        let manifest = manifest.map_err(|error| none(error.to_string()))?;
        Ok(Self {
            client: Client::open(&repository, settings.url.as_deref(), env)?,
            path,
            note: with_suffix(&manifest, ".lfs.lock"),
            manifest,
            is_other_server: settings.url.is_some(),
        })
    }

    /// Returns the name of the lock and the address of its server.
    pub fn name_and_server(&self) -> (&str, String) {
        (&self.path, self.client.server())
    }

    /// Creates a location with a given client, for tests.
    #[cfg(test)]
    pub(super) fn at(client: Client, path: String, manifest: PathBuf) -> Self {
        Self {
            client,
            path,
            note: with_suffix(&manifest, ".lfs.lock"),
            manifest,
            is_other_server: false,
        }
    }

    /// Takes the lock, and waits up to the time limit while another user holds it. Messages for the user go
    /// to `notify`.
    pub fn take(
        mut self,
        wait: LockWait<'_>,
        notify: &mut dyn FnMut(&str),
    ) -> Result<HeldRemoteLock, RemoteLockError> {
        let began = Instant::now();
        let mut notified = false;
        let previous_note = self.read_note();
        if previous_note.is_none() {
            self.write_note(None)?;
        }
        loop {
            let sent_at = clock::now();
            let lost = |error, other| LostAnswer {
                error,
                other,
                sent_at,
                lost_at: clock::now(),
                is_fresh: previous_note.is_none(),
            };
            let holder = match self.client.create(&self.path) {
                Ok(LockOutcome::Acquired(lock)) => return self.note_acquired_lock(lock),
                Ok(LockOutcome::HeldByOther(holder)) => holder,
                Ok(LockOutcome::OtherPath(other)) => {
                    let lost = lost(self.other_path_error(), Some(other));
                    return self.look_up(lost, wait, notify);
                }
                Err(error) => match self.find_holder_if_forbidden(&error) {
                    Some(holder) => Some(holder),
                    None if error.may_have_locked() => {
                        return self.look_up(lost(error, None), wait, notify);
                    }
                    None => return Err(self.unavailable(error, previous_note.is_none())),
                },
            };
            let noted = previous_note.as_ref().and_then(|note| note.lock.as_ref());
            if let Some(lock) = holder.as_ref().filter(|lock| is_noted(noted, lock)) {
                notify("took over the remote lock of an earlier job here that was killed");
                return self.note_acquired_lock(lock.clone());
            }
            let rest = wait.timeout.saturating_sub(began.elapsed());
            if rest.is_zero() {
                return Err(self.held_by_other(
                    holder.as_ref(),
                    previous_note.as_ref(),
                    wait.timeout,
                ));
            }
            if !std::mem::replace(&mut notified, true) {
                let holder = holder.map_or_else(|| "another user".to_owned(), |it| it.to_string());
                let seconds = rest.as_secs_f32().round();
                notify(&format!(
                    "waiting up to {seconds} s for the remote lock, which is held by {holder}"
                ));
            }
            if wait.interrupts.wait(RETRY_INTERVAL.min(rest)) {
                return Err(self.held_by_other(None, previous_note.as_ref(), wait.timeout));
            }
        }
    }

    fn other_path_error(&self) -> Error {
        Error::InvalidResponse {
            server: self.client.server(),
            reason: "it locked another path".to_owned(),
        }
    }

    /// Looks up the lock after the answer to its request was lost. A lock of this user that the server created
    /// meanwhile is the requested one.
    fn look_up(
        mut self,
        lost: LostAnswer,
        wait: LockWait<'_>,
        notify: &mut dyn FnMut(&str),
    ) -> Result<HeldRemoteLock, RemoteLockError> {
        let path = self.path.clone();
        let doubtful = |error, hint| Err(RemoteLockError::Doubtful { error, hint });
        let unknown = format!(
            "the server may have granted the lock `{path}`: `unfurl lock list` shows it, and {} \
             releases it",
            break_command(&self.manifest, true)
        );
        if wait.interrupts.first().is_some() {
            notify(&unknown);
            return doubtful(lost.error, unknown);
        }
        let found = match self.client.find_own(&path) {
            Ok(found) => found,
            // The server tells the locks, but not which are own.
            Err(error) if !matches!(error, Error::Unreachable { .. }) => {
                match self.client.find(&path) {
                    Ok(lock) => lock.map(FoundLock::of_unknown_owner),
                    Err(_) => return doubtful(lost.error, unknown),
                }
            }
            Err(_) => return doubtful(lost.error, unknown),
        };
        match (found, lost.other) {
            (Some(found), _) if found.is_from(lost.sent_at, lost.lost_at) => {
                let reason = &lost.error;
                notify(&format!(
                    "the server granted the remote lock, although its answer was lost: {reason}"
                ));
                self.note_acquired_lock(found.lock)
            }
            (Some(FoundLock { lock, is_own, .. }), _) => {
                let free = self.command_to_free(Some(&lock), !is_own);
                let hint = format!("{lock} holds the lock; if no job runs with it, run {free}");
                doubtful(lost.error, hint)
            }
            (None, Some(other)) => {
                let free = self.command_to_free(Some(&other), false);
                let hint = format!("release the lock on the path `{}` with {free}", other.path);
                doubtful(lost.error, hint)
            }
            (None, None) => Err(self.unavailable(lost.error, lost.is_fresh)),
        }
    }

    /// Converts a failed request to an error. A fresh note is removed, because the server certainly granted no lock.
    fn unavailable(&self, error: Error, is_fresh: bool) -> RemoteLockError {
        if is_fresh {
            fs::remove_file_if_exists(&self.note).ok();
        }
        error.into()
    }

    /// A user without push access cannot create locks but can still list them. If another user holds the
    /// lock, the caller reports that instead of an unavailable lock.
    fn find_holder_if_forbidden(&mut self, error: &Error) -> Option<LfsLock> {
        match error {
            Error::Forbidden { .. } => self.client.find(&self.path).ok().flatten(),
            _ => None,
        }
    }

    /// Returns the note of an earlier job of this ensemble on this host and server.
    pub(super) fn read_note(&self) -> Option<LockNote> {
        let bytes = fs::read_within(&self.note, MAX_NOTE_BYTES).ok()?;
        let note: LockNote = serde_yaml::from_slice(&bytes).ok()?;
        let is_here = note.host == machine::hostname() && note.ensemble == self.manifest;
        (is_here && note.server == self.client.server()).then_some(note)
    }

    /// Notes a granted lock. If the note cannot be written, the lock is released again, because no later job
    /// would recognize it.
    fn note_acquired_lock(self, lock: LfsLock) -> Result<HeldRemoteLock, RemoteLockError> {
        let written = self.write_note(Some(&lock));
        let mut held = HeldRemoteLock {
            location: self,
            lock,
        };
        match written {
            Ok(()) => Ok(held),
            Err(error) => {
                held.unlock();
                Err(error.into())
            }
        }
    }

    fn write_note(&self, lock: Option<&LfsLock>) -> Result<(), fs::Error> {
        let note = LockNote {
            host: machine::hostname(),
            ensemble: self.manifest.clone(),
            server: self.client.server(),
            requested_at: clock::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            lock: lock.cloned(),
        };
        let folder = self.manifest.parent();
        if let Some(repository) = folder.and_then(|folder| Repository::discover(folder).ok()?) {
            // A repository that is not writable must not stop the job.
            repository
                .ensure_excluded(&[("*.lfs.lock", &self.note)])
                .ok();
        }
        serde_yaml::to_string(&note)
            .map_err(std::io::Error::other)
            .map_err(|source| fs::Error::new(fs::FileAction::Write, &self.note, source))
            .and_then(|text| {
                let folder = Beneath::open(folder.unwrap_or(Path::new(".")))?;
                let name = Path::new(self.note.file_name().unwrap_or_default());
                folder.write_atomic(name, text.as_bytes(), None)
            })
    }

    /// Returns the error for a lock that another user holds.
    fn held_by_other(
        &self,
        holder: Option<&LfsLock>,
        previous_note: Option<&LockNote>,
        wait: Duration,
    ) -> RemoteLockError {
        let (server, path) = (self.client.server(), &self.path);
        let who = holder.map_or_else(|| "another user".to_owned(), LfsLock::to_string);
        let waited = match wait.as_secs() {
            0 => String::new(),
            seconds => format!(" after {seconds} s of waiting"),
        };
        let message = format!("the ensemble is locked{waited} by {who}: `{path}` on `{server}`");
        let free = self.command_to_free(holder, true);
        let mut hint =
            format!("wait until that job has ended; if you are sure that it has ended, run {free}");
        match previous_note {
            // The earlier note is about a lock that no longer exists, or may still describe this one.
            Some(note) if note.lock.is_none() => {
                hint.extend([
                    "; the lock may belong to a job in this folder that crashed at ",
                    &note.requested_at,
                    " while it requested the lock",
                ]);
            }
            _ => drop(fs::remove_file_if_exists(&self.note)),
        }
        RemoteLockError::HeldByOther { message, hint }
    }

    /// Returns the git-lfs command that releases the lock.
    fn command_to_free(&self, lock: Option<&LfsLock>, force: bool) -> String {
        let server = if self.is_other_server {
            format!(" -c lfs.url={}", quoted(&self.client.server()))
        } else {
            String::new()
        };
        let force = if force { " --force" } else { "" };
        let which = match lock {
            Some(lock) => format!("--id={}", quoted(&lock.id)),
            None => quoted(&self.path),
        };
        format!("`git{server} lfs unlock{force} {which}`")
    }
}

impl HeldRemoteLock {
    /// Releases the lock. Returns a warning if the user should know about a problem.
    pub(super) fn unlock(&mut self) -> Option<Diagnostic> {
        let path = self.lock.path.clone();
        let warning = match self.location.client.release(&self.lock) {
            Ok(ReleaseOutcome::Released) => None,
            Ok(ReleaseOutcome::NotLocked) => Some("another user released it".to_owned()),
            Ok(ReleaseOutcome::LockedByOther(other)) => {
                Some(format!("it was released, and {other} holds it now"))
            }
            Err(error) => {
                let message = format!("the remote lock `{path}` was not released: {error}");
                let free = self.location.command_to_free(Some(&self.lock), false);
                let help = format!(
                    "run {free}; or start the next job in this folder, which recognizes the lock"
                );
                return Some(Diagnostic::warning(message).help(help));
            }
        };
        fs::remove_file_if_exists(&self.location.note).ok();
        warning.map(|reason| {
            let message =
                format!("the remote lock `{path}` was broken while the job ran: {reason}");
            let help = "check whether a job ran on another machine at the same time, and whether \
                        both records are correct";
            Diagnostic::warning(message).help(help)
        })
    }
}

/// Whether a lock is the noted one.
pub(super) fn is_noted(noted: Option<&LfsLock>, lock: &LfsLock) -> bool {
    noted.is_some_and(|noted| noted.is_same(lock))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Quotes a word for a shown command. Escapes in URLs are quoted too.
fn quoted(word: &str) -> String {
    if word.contains(['%', '+', ',']) {
        return text::force_quote_word(word);
    }
    text::quote_word(word)
}
