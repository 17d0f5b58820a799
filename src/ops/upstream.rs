//! Looks, before a job, whether others have pushed what is not here yet.

use std::time::Duration;

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::request::JobRequest;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::git::{Divergence, Error, Repository, Upstream};
use crate::session::{self, EnsembleLocation, distinct_repositories, repositories_of};

/// How long a remote may take to answer.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Brings the repositories of the ensemble and of its project up to what their branches follow.
/// One that cannot be asked is a warning; one that has diverged is refused. A job that changes
/// nothing changes nothing here either. Gives the ensemble as it is found again if newer commits came in.
pub(super) fn fast_forward_all(
    found: &EnsembleLocation,
    request: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<Option<EnsembleLocation>, Failure> {
    if !request.save.check_upstream || request.goal.dry_run {
        return Ok(None);
    }
    // A repository that cannot be read is told of where something depends on it.
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
        "newer commits make `{}` the ensemble that is meant, where it was `{}`",
        again.located.manifest.display(),
        manifest.display()
    );
    let help = "run the job again".to_owned();
    Err(Failure::new(FailureKind::Refused, message, Some(help)))
}

type FetchResult = (Repository, Upstream, Result<(), Error>);

/// Asks all remotes at the same time.
fn fetch_all(followed: Vec<(Repository, Upstream)>) -> Vec<FetchResult> {
    let threads = followed.into_iter().map(|(repository, upstream)| {
        std::thread::spawn(move || {
            let fetched = repository.fetch(&upstream.remote, FETCH_TIMEOUT);
            (repository, upstream, fetched)
        })
    });
    let threads: Vec<_> = threads.collect();
    threads
        .into_iter()
        .filter_map(|thread| thread.join().ok())
        .collect()
}

fn warn(error: &Error, view: &mut dyn JobFrontend) {
    let help = "the job goes on with the commits that are here; `--skip-upstream-check` does not \
                ask";
    let warning = Diagnostic::warning(error).help(help);
    view.warnings(&Diagnostics::from(warning), &Sources::default());
}

/// Moves a branch forward where it is behind; says whether it did.
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
                "`{}` is brought up to `{upstream}`, which was {behind} {commits} ahead",
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
        "{}`--skip-upstream-check` goes on with the commits that are here",
        hint.unwrap_or_default()
    );
    Failure::new(FailureKind::Refused, error, Some(help))
}

fn diverged_failure(repository: &Repository, upstream: &Upstream) -> Failure {
    let (here, there) = repository.describe_divergence(upstream).unwrap_or_default();
    let message = format!(
        "`{}` and `{upstream}` have diverged: only here are {here}; only there are {there}",
        repository.root().display()
    );
    let help = "bring them together with `git pull --rebase`, or with `unfurl commit --push` if those \
                here are records of jobs; `--skip-upstream-check` goes on without";
    Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
}
