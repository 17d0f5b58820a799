//! Where the lock is, how it is taken there, and what is noted of it beside the ensemble.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::settings::{LockNameParts, RemoteLockSettings};
use crate::diagnostic::Diagnostic;
use crate::git::Repository;
use crate::git::lfs::{Client, Error, LfsLock, LockOutcome, ReleaseOutcome};
use crate::lock::wait::LockWait;
use crate::system::env::Env;
use crate::system::{clock, fs, machine};
use crate::text;

/// How long to wait before asking again for a lock that somebody has.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// A lock that is ours.
#[derive(Debug)]
#[must_use = "the lock stays on the server if nobody frees it"]
pub struct HeldRemoteLock {
    location: LockLocation,
    lock: LfsLock,
}

/// An ensemble that is to be locked, and its surroundings.
#[derive(Debug, Clone, Copy)]
pub struct RemoteLockRequest<'a> {
    /// The settings of its environment.
    pub settings: &'a RemoteLockSettings,
    /// The name of its environment, if it has one.
    pub environment: Option<&'a str>,
    /// Its manifest.
    pub manifest: &'a Path,
    /// Its folder.
    pub base_dir: &'a Path,
    /// Its URI; may be empty.
    pub uri: &'a str,
    /// The variables of this process.
    pub env: &'a Env,
}

/// Where the lock is, and what is noted of it beside the ensemble.
#[derive(Debug)]
pub struct LockLocation {
    pub(super) client: Client,
    pub(super) path: String,
    manifest: PathBuf,
    pub(super) note: PathBuf,
    /// Whether the server is one that git-lfs itself would not take.
    is_other_server: bool,
}

/// What is noted of a lock, before it is asked for and once it is ours, so that the next job knows
/// it again if this one is killed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LockNote {
    /// The host that it was taken on.
    host: String,
    /// The ensemble that it was taken for: a copy of the folder has none.
    ensemble: PathBuf,
    /// The server that has it.
    server: String,
    /// When it was asked for.
    #[serde(rename = "asked")]
    requested_at: String,
    /// The lock; none while nobody knows whether the server gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lock: Option<LfsLock>,
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum RemoteLockError {
    /// No server could be asked for it.
    #[error("the ensemble cannot be locked for other machines: {0}")]
    Unavailable(#[from] Error),
    /// Somebody else has it.
    #[error("{message}")]
    HeldByOther {
        /// Who has it, and where.
        message: String,
        /// How it is freed.
        hint: String,
    },
    /// Nobody would know it again, since nothing can be noted beside the ensemble.
    #[error(transparent)]
    Note(#[from] fs::Error),
}

impl RemoteLockError {
    /// Says what people can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unavailable(error) => Some(error.hint().to_owned()),
            Self::HeldByOther { hint, .. } => Some(hint.clone()),
            Self::Note(error) => error.hint(),
        }
    }
}

impl LockLocation {
    /// Finds the lock of an ensemble; an error says why no server can be asked.
    pub fn of(locking: &RemoteLockRequest<'_>) -> Result<Self, Error> {
        let RemoteLockRequest { settings, env, .. } = *locking;
        let none = Error::NoServer;
        let found = Repository::discover(locking.base_dir);
        let repository = found.map_err(|error| none(error.to_string()))?;
        let repository = repository.ok_or_else(|| {
            none("it is in no git repository, so there is no git-lfs server".to_owned())
        })?;
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

    /// The lock of this path, for an ensemble whose server git-lfs would take as well.
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

    /// Takes the lock, and waits as long as it may while somebody else has it. What people should
    /// know at once goes to `tell`.
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
            let holder = match self.client.create(&self.path) {
                Ok(LockOutcome::Acquired(lock)) => return self.hold(lock),
                Ok(LockOutcome::HeldByOther(holder)) => holder,
                Err(error) => match self.holder_after(&error) {
                    Some(holder) => Some(holder),
                    None => return Err(self.unavailable(error, previous_note.is_none())),
                },
            };
            let noted = previous_note.as_ref().and_then(|note| note.lock.as_ref());
            if let Some(lock) = holder.as_ref().filter(|lock| is_noted(noted, lock)) {
                notify("took up the remote lock that a job which was killed has left");
                return self.hold(lock.clone());
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
                let holder = holder.map_or_else(|| "somebody".to_owned(), |it| it.to_string());
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

    /// A server that was asked and said no has not locked; of others nobody knows.
    fn unavailable(&self, error: Error, is_fresh: bool) -> RemoteLockError {
        if is_fresh && !error.may_have_locked() {
            fs::remove_file_if_exists(&self.note).ok();
        }
        error.into()
    }

    /// Who may not lock may still be told that somebody else has: then the lock is not unavailable.
    fn holder_after(&mut self, error: &Error) -> Option<LfsLock> {
        match error {
            Error::Forbidden { .. } => self.client.find(&self.path).ok().flatten(),
            _ => None,
        }
    }

    /// What an earlier job of this ensemble noted here of this server.
    pub(super) fn read_note(&self) -> Option<LockNote> {
        let text = fs::read_to_string(&self.note).ok()?;
        let note: LockNote = serde_yaml::from_str(&text).ok()?;
        let is_here = note.host == machine::hostname() && note.ensemble == self.manifest;
        (is_here && note.server == self.client.server()).then_some(note)
    }

    /// Notes a lock that is ours. If that fails nobody would know it again, so it is given back.
    fn hold(self, lock: LfsLock) -> Result<HeldRemoteLock, RemoteLockError> {
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
            // A repository that cannot be written is no reason to stop a job.
            repository.ensure_excluded("*.lfs.lock", &self.note).ok();
        }
        serde_yaml::to_string(&note)
            .map_err(std::io::Error::other)
            .map_err(|source| fs::Error::new(fs::FileAction::Write, &self.note, source))
            .and_then(|text| fs::write_atomic(&self.note, text.as_bytes(), None))
    }

    /// Why a job must not start while somebody else has the lock.
    fn held_by_other(
        &self,
        holder: Option<&LfsLock>,
        previous_note: Option<&LockNote>,
        wait: Duration,
    ) -> RemoteLockError {
        let (server, path) = (self.client.server(), &self.path);
        let who = holder.map_or_else(|| "somebody".to_owned(), LfsLock::to_string);
        let waited = match wait.as_secs() {
            0 => String::new(),
            seconds => format!(" after {seconds} s of waiting"),
        };
        let message = format!("the ensemble is locked{waited} by {who}: `{path}` on `{server}`");
        let free = self.command_to_free(holder, true);
        let mut hint = format!("wait until that job is done; if it is gone for sure, run {free}");
        match previous_note {
            // What was noted before this job is no lock any more, or still may be this one.
            Some(note) if note.lock.is_none() => {
                hint.extend([
                    "; it may be from a job here that was cut off at ",
                    &note.requested_at,
                    " while it asked for it",
                ]);
            }
            _ => drop(fs::remove_file_if_exists(&self.note)),
        }
        RemoteLockError::HeldByOther { message, hint }
    }

    /// The command of git-lfs that frees the lock.
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
    /// Frees the lock; says what people should know about that.
    pub(super) fn unlock(&mut self) -> Option<Diagnostic> {
        let path = self.lock.path.clone();
        let warning = match self.location.client.release(&self.lock) {
            Ok(ReleaseOutcome::Released) => None,
            Ok(ReleaseOutcome::NotLocked) => Some("somebody has freed it".to_owned()),
            Ok(ReleaseOutcome::LockedByOther(other)) => {
                Some(format!("it was freed, and is held now by {other}"))
            }
            Err(error) => {
                let message = format!("the remote lock `{path}` was not freed: {error}");
                let free = self.location.command_to_free(Some(&self.lock), false);
                let help = format!("run {free}; the next job here knows the lock again");
                return Some(Diagnostic::warning(message).help(help));
            }
        };
        fs::remove_file_if_exists(&self.location.note).ok();
        warning.map(|reason| {
            let message =
                format!("the remote lock `{path}` was broken while the job ran: {reason}");
            let help = "see whether a job ran elsewhere at the same time, and whether both records \
                        are true";
            Diagnostic::warning(message).help(help)
        })
    }
}

/// Whether a lock is the one that was noted.
pub(super) fn is_noted(noted: Option<&LfsLock>, lock: &LfsLock) -> bool {
    noted.is_some_and(|noted| noted.is_same(lock))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A word of a command that is shown; the signs of escapes in URLs are quoted too.
fn quoted(word: &str) -> String {
    if word.contains(['%', '+', ',']) {
        return text::force_quote_word(word);
    }
    text::quote_word(word)
}
