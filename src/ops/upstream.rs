//! Fetches the commits of others before a job, and fast-forwards the local branches.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::request::JobRequest;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::git::{Divergence, Error, Repository, Upstream};
use crate::session::{self, EnsembleLocation, distinct_repositories, repositories_of};

/// The time limit for the response of a remote.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Completes checkouts of killed jobs in the repositories of the ensemble and its project, before the ensemble is
/// loaded.
pub(super) fn complete_checkouts(found: &EnsembleLocation) -> Result<(), Failure> {
    let repositories = repositories_of(&found.located).map(distinct_repositories);
    for repository in repositories.unwrap_or_default() {
        repository.repair_checkouts()?;
    }
    Ok(())
}

/// Fast-forwards the repositories of the ensemble and its project to their upstreams.
///
/// An unreachable remote is a warning; a diverged branch is an error. A dry run fetches nothing. Returns the
/// ensemble located again if commits were added.
pub(super) fn fast_forward_all(
    found: &EnsembleLocation,
    request: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<Option<EnsembleLocation>, Failure> {
    if !request.save.check_upstream || request.goal.dry_run {
        return Ok(None);
    }
    // An unreadable repository is reported later, where it is needed.
    let repositories = repositories_of(&found.located)
        .map(distinct_repositories)
        .unwrap_or_default();
    let followed: Vec<_> = repositories
        .into_iter()
        .filter_map(|repository| {
            let upstream = repository.upstream()?;
            Some((repository, upstream))
        })
        .collect();
    if followed.is_empty() {
        return Ok(None);
    }
    let mut moved = false;
    for (repository, upstream, fetched) in fetch_all(followed) {
        if let Err(error) = fetched {
            warn(&error, view);
        }
        moved |= fast_forward(&repository, &upstream, view)?;
    }
    if !moved {
        return Ok(None);
    }
    let manifest = &found.located.manifest;
    let again = session::find(&request.session)?;
    if again.located.manifest == *manifest {
        return Ok(Some(again));
    }
    let message = format!(
        "after newer commits were pulled, the options select the ensemble `{}` instead of `{}`",
        again.located.manifest.display(),
        manifest.display()
    );
    let help = "run the job again".to_owned();
    Err(Failure::new(FailureKind::Refused, message, Some(help)))
}

/// A repository with its upstream and the result of the fetch.
type FetchResult = (Repository, Upstream, Result<(), Error>);

/// Fetches from all remotes in parallel, or one after the other if no thread can be started.
fn fetch_all(followed: Vec<(Repository, Upstream)>) -> Vec<FetchResult> {
    let fetches = followed.into_iter().map(|followed| {
        let slot = Arc::new(Mutex::new(Some(followed)));
        let work = Arc::clone(&slot);
        let thread = std::thread::Builder::new().spawn(move || fetch(&work));
        (slot, thread.ok())
    });
    let fetches: Vec<_> = fetches.collect();
    fetches
        .into_iter()
        .filter_map(|(slot, thread)| match thread {
            Some(thread) => thread.join().ok()?,
            None => fetch(&slot),
        })
        .collect()
}

fn fetch(followed: &Mutex<Option<(Repository, Upstream)>>) -> Option<FetchResult> {
    let mut slot = followed.lock().unwrap_or_else(PoisonError::into_inner);
    let (repository, upstream) = slot.take()?;
    let fetched = repository.fetch(&upstream, FETCH_TIMEOUT);
    Some((repository, upstream, fetched))
}

fn warn(error: &Error, view: &mut dyn JobFrontend) {
    let help = "the job continues with the local commits; `--skip-upstream-check` skips the fetch";
    let warning = Diagnostic::warning(error).help(help);
    view.warnings(&Diagnostics::from(warning), &Sources::default());
}

/// Fast-forwards a branch if it is behind. Returns whether it moved.
fn fast_forward(
    repository: &Repository,
    upstream: &Upstream,
    view: &mut dyn JobFrontend,
) -> Result<bool, Failure> {
    let distance = repository.divergence(upstream)?;
    match distance {
        None | Some(Divergence { behind: 0, .. }) => Ok(false),
        Some(Divergence { ahead: 0, behind }) => {
            if let Err(error) = repository.fast_forward(upstream) {
                return Err(fast_forward_failure(&error));
            }
            let commits = if behind == 1 { "commit" } else { "commits" };
            view.notice(&format!(
                "`{}` was updated to `{upstream}`, which was {behind} {commits} ahead",
                repository.root().display()
            ));
            Ok(true)
        }
        Some(Divergence { .. }) => Err(diverged_failure(repository, upstream)),
    }
}

fn fast_forward_failure(error: &Error) -> Failure {
    let hint = error.hint().map(|hint| format!("{hint}; "));
    let help = format!(
        "{}`--skip-upstream-check` continues with the local commits",
        hint.unwrap_or_default()
    );
    Failure::new(FailureKind::Refused, error, Some(help))
}

fn diverged_failure(repository: &Repository, upstream: &Upstream) -> Failure {
    let (here, there) = repository.describe_divergence(upstream).unwrap_or_default();
    let message = format!(
        "`{}` and `{upstream}` have diverged: only local: {here}; only remote: {there}",
        repository.root().display()
    );
    let help = "combine them with `git pull --rebase`, or with `unfurl commit --push` if the local \
                commits are records of jobs; `--skip-upstream-check` skips this check";
    Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
}
