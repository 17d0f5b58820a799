//! Looks, before a job, whether others have pushed what is not here yet.

use std::time::Duration;

use super::failure::{Failure, FailureKind};
use super::request::JobRequest;
use super::view::View;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::git::{Distance, Error, Repository, Upstream};
use crate::session::{self, Found, involved_in, once_each};

/// How long a remote may take to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// Brings the repositories of the ensemble and of its project up to what their branches follow.
/// One that cannot be asked is a warning; one that has diverged is refused. A job that changes
/// nothing changes nothing here either. Gives the ensemble as it is found again if newer commits came in.
pub(super) fn check(
    found: &Found,
    request: &JobRequest,
    view: &mut dyn View,
) -> Result<Option<Found>, Failure> {
    if !request.save.check_upstream || request.goal.dry_run {
        return Ok(None);
    }
    // A repository that cannot be read is told of where something depends on it.
    let repositories = involved_in(&found.located)
        .map(once_each)
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
        moved |= follow(&repository, &upstream, view)?;
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

type Fetched = (Repository, Upstream, Result<(), Error>);

/// Asks all remotes at the same time.
fn fetch_all(followed: Vec<(Repository, Upstream)>) -> Vec<Fetched> {
    let threads = followed.into_iter().map(|(repository, upstream)| {
        std::thread::spawn(move || {
            let fetched = repository.fetch(&upstream.remote, LIMIT);
            (repository, upstream, fetched)
        })
    });
    let threads: Vec<_> = threads.collect();
    threads
        .into_iter()
        .filter_map(|thread| thread.join().ok())
        .collect()
}

fn warn(error: &Error, view: &mut dyn View) {
    let help = "the job goes on with the commits that are here; `--skip-upstream-check` does not \
                ask";
    let warning = Diagnostic::warning(error).help(help);
    view.warnings(&Diagnostics::from(warning), &Sources::default());
}

/// Moves a branch forward where it is behind; says whether it did.
fn follow(
    repository: &Repository,
    upstream: &Upstream,
    view: &mut dyn View,
) -> Result<bool, Failure> {
    let distance = repository.distance(upstream)?;
    match distance {
        None | Some(Distance { behind: 0, .. }) => Ok(false),
        Some(Distance { ahead: 0, behind }) => {
            if let Err(error) = repository.fast_forward(upstream) {
                return Err(behind_and_stuck(&error));
            }
            let commits = if behind == 1 { "commit" } else { "commits" };
            view.notice(&format!(
                "`{}` is brought up to `{upstream}`, which was {behind} {commits} ahead",
                repository.root().display()
            ));
            Ok(true)
        }
        Some(Distance { .. }) => Err(diverged(repository, upstream)),
    }
}

fn behind_and_stuck(error: &Error) -> Failure {
    let hint = error.hint().map(|hint| format!("{hint}; "));
    let help = format!(
        "{}`--skip-upstream-check` goes on with the commits that are here",
        hint.unwrap_or_default()
    );
    Failure::new(FailureKind::Refused, error, Some(help))
}

fn diverged(repository: &Repository, upstream: &Upstream) -> Failure {
    let (here, there) = repository.apart(upstream).unwrap_or_default();
    let message = format!(
        "`{}` and `{upstream}` have diverged: only here are {here}; only there are {there}",
        repository.root().display()
    );
    let help = "bring them together with `git pull --rebase`, or with `unfurl commit --push` if those \
                here are records of jobs; `--skip-upstream-check` goes on without";
    Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
}
