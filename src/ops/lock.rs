//! The locks of ensembles: a job takes that of its own, people look at them, or break them.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::failure::{Failure, FailureKind};
use super::remote_lock::{self, RemoteListed};
use super::request::{JobRequest, SessionOptions};
use super::session;
use super::view::View;
use crate::ensemble::{Entry, Journal};
use crate::lock::{Lock, LockError, LockOwner, LockState, TakenOver};
use crate::system::fs;
use crate::system::survivors::{self, Ended, Survivor};

/// How often a lock that another holds is tried again.
const LOOK: Duration = Duration::from_millis(50);

/// How long processes that a killed job left have between being asked to end and being killed.
const GRACE: Duration = Duration::from_secs(5);

/// The lock of an ensemble, for those who look.
#[derive(Debug)]
pub struct Listed {
    /// The ensemble's manifest.
    pub manifest: PathBuf,
    /// Who holds its lock; an error says why nobody can tell.
    pub state: Result<LockState, String>,
    /// Its lock for all machines, if its environment asks for one.
    pub remote: Option<RemoteListed>,
}

/// Takes the lock of an ensemble for a job, and waits for it as long as asked. Where a job that was
/// killed held it, what that job left running is ended first.
pub(super) fn take(
    manifest: &Path,
    request: &JobRequest,
    view: &mut dyn View,
) -> Result<Lock, Failure> {
    let until = Instant::now().checked_add(request.lock_timeout);
    let mut told = None;
    let acquired = loop {
        request.go_on()?;
        let error = match Lock::acquire(manifest, &request.command) {
            Ok(acquired) => break acquired,
            Err(error) if error.may_pass() => error,
            Err(error) => return Err(refused(error)),
        };
        let left = until.map_or(request.lock_timeout, |until| {
            until.saturating_duration_since(Instant::now())
        });
        if left.is_zero() {
            return Err(refused(error));
        }
        let holder = error.to_string();
        if told.as_ref() != Some(&holder) {
            let left = left.as_secs_f32().round();
            view.notice(&format!("waiting up to {left} s for the lock: {holder}"));
            told = Some(holder);
        }
        request.interrupts.wait(left.min(LOOK));
    };
    if let Some(taken) = &acquired.taken_over {
        view.notice(&taken.to_string());
    }
    let owner = acquired
        .taken_over
        .as_ref()
        .and_then(|it| it.owner.as_ref());
    if let Some(text) = end_survivors(owner, manifest) {
        view.notice(&text);
    }
    request.go_on()?;
    Ok(acquired.lock)
}

/// Ends what jobs that were killed left running: that of a stale lock, and those whose journals are
/// there. What their tasks that ended left behind on purpose is spared. Says what was ended.
fn end_survivors(owner: Option<&LockOwner>, manifest: &Path) -> Option<String> {
    let real = fs::canonicalize(manifest);
    let mut jobs = cut_off(real.as_deref().unwrap_or(manifest));
    if let Some(owner) = owner {
        jobs.entry(owner.token.clone()).or_default();
    }
    let mut all = Ended::default();
    for (token, done) in jobs {
        let ended = survivors::end(&token, &|task| done.contains(&task), GRACE);
        all.found.extend(ended.found);
        all.left.extend(ended.left);
    }
    told_of(&all)
}

/// What is told of processes that were ended; nothing if there were none.
fn told_of(ended: &Ended) -> Option<String> {
    let named = |survivors: &[Survivor]| {
        let names = survivors.iter().take(5);
        let mut names: Vec<_> = names
            .map(|it| format!("`{}` ({})", it.command, it.pid))
            .collect();
        if survivors.len() > names.len() {
            names.push("…".to_owned());
        }
        names.join(", ")
    };
    let count = |number| match number {
        1 => "1 process".to_owned(),
        number => format!("{number} processes"),
    };
    if ended.found.is_empty() {
        return None;
    }
    let mut text = format!(
        "ended {} that its tasks had left running: {}",
        count(ended.found.len()),
        named(&ended.found)
    );
    if !ended.left.is_empty() {
        text.push_str("; these cannot be ended and still run: ");
        text.push_str(&named(&ended.left));
    }
    Some(text)
}

/// The jobs whose journals are there, by their tokens: which of their tasks have ended, by the
/// numbers that runners know them by.
fn cut_off(manifest: &Path) -> BTreeMap<String, HashSet<u64>> {
    let journals = Journal::left_of(manifest).unwrap_or_default();
    let read = journals
        .iter()
        .filter_map(|path| Journal::read::<Vec<Entry>>(path).ok());
    let mut found = BTreeMap::new();
    for recovered in read {
        let mut token = None;
        let mut done = HashSet::new();
        for entry in recovered.entries.into_iter().flatten() {
            match entry {
                Entry::Began(began) => token = began.token,
                Entry::Ended(ended) => drop(done.insert((ended.task as u64).wrapping_sub(1))),
                _ => {}
            }
        }
        if let Some(token) = token {
            found.insert(token, done);
        }
    }
    found
}

/// The locks of the ensemble that is named; where none is, of all that the project lists.
pub fn list(options: &SessionOptions) -> Result<Vec<Listed>, Failure> {
    let manifests = if options.ensemble.is_empty() {
        all_of_project(options)?
    } else {
        vec![session::find(options)?.located.manifest]
    };
    let listed = manifests.into_iter().map(|manifest| Listed {
        state: Lock::look(&manifest).map_err(|error| error.to_string()),
        remote: remote_lock::look(options, &manifest),
        manifest,
    });
    Ok(listed.collect())
}

fn all_of_project(options: &SessionOptions) -> Result<Vec<PathBuf>, Failure> {
    let located = session::find(options)?.located;
    let mut manifests = vec![located.manifest];
    if let Some(project) = &located.project {
        let here = project.ensembles.iter();
        let here = here.filter(|entry| entry.project.is_none());
        manifests.extend(here.map(|entry| project.path_of(entry)));
    }
    manifests.sort();
    manifests.dedup();
    manifests.retain(|path| fs::is_file(path));
    Ok(manifests)
}

/// Removes the lock; one whose process runs only with `force`. What a job that was killed left
/// running is ended.
pub fn break_it(options: &SessionOptions, force: bool) -> Result<String, Failure> {
    let manifest = session::find(options)?.located.manifest;
    let state = Lock::break_it(&manifest, force).map_err(refused)?;
    let local = match state {
        LockState::Free => "there was no lock\n".to_owned(),
        LockState::Stale(taken) => {
            let ended = end_survivors(taken.owner.as_ref(), &manifest);
            let ended = ended.map_or_else(String::new, |text| format!("{text}\n"));
            let words = words(&LockState::Stale(taken));
            format!("the lock is broken; it was {words}\n{ended}")
        }
        other => format!("the lock is broken; it was {}\n", words(&other)),
    };
    let remote = remote_lock::break_it(options, force);
    Ok(local + &remote.map_or_else(String::new, |text| format!("{text}\n")))
}

/// How a lock is, in words.
pub fn words(state: &LockState) -> String {
    match state {
        LockState::Free => "free".to_owned(),
        LockState::Ours => "held by this process".to_owned(),
        LockState::Unreadable => {
            "held by nobody knows whom: there is no process id in it".to_owned()
        }
        LockState::Stale(stale) => {
            format!("held by {}, which no longer runs", stale.holder())
        }
        LockState::Held { pid, owner } => match (owner, pid) {
            (Some(owner), _) => format!("held by {owner}"),
            (None, Some(pid)) => format!("held by process {pid}"),
            (None, None) => "held by another process".to_owned(),
        },
    }
}

/// Who holds or held a lock: the process id in the lock file, and its owner file.
pub fn holder(state: &LockState) -> (Option<u32>, Option<&LockOwner>) {
    match state {
        LockState::Held { pid, owner } | LockState::Stale(TakenOver { pid, owner }) => {
            (*pid, owner.as_ref())
        }
        LockState::Free | LockState::Ours | LockState::Unreadable => (None, None),
    }
}

fn refused(error: LockError) -> Failure {
    let hint = error.hint();
    Failure::new(FailureKind::Locked, error, hint)
}
