//! Checks, before a job runs, that its record can be committed afterwards.

use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::request::JobRequest;
use super::secret::{CLEAR_PERMISSION, refuse_clear_values};
use crate::ensemble::{CommitError, NotInGit, RecordCommit, RecordFiles};
use crate::git::Repository;
use crate::session::{Session, distinct_repositories, involved_repositories, secret_values};

/// The maximum number of files named in a message.
const MAX_NAMED_FILES: usize = 10;

/// Prepares the commit of a job; `None` if no commit is requested.
///
/// # Errors
///
/// Uncommitted changes forbid the job, or the commit would fail.
pub(super) fn prepare_commit(
    request: &JobRequest,
    session: &Session,
    view: &mut dyn JobFrontend,
) -> Result<Option<RecordCommit>, Failure> {
    if request.save.refuse_dirty {
        refuse_uncommitted(session)?;
    }
    let Some(commit) = request.save.commit.clone() else {
        return Ok(None);
    };
    if request.goal.dry_run {
        return Ok(None);
    }
    if !request.save.record {
        view.notice("nothing is committed, because the run is not saved; `--save` saves it");
        return Ok(None);
    }
    let trust = &session.location.located.trust;
    let notify = &mut |text: &str| view.notice(text);
    let prepared = RecordCommit::prepare(
        commit,
        session.manifest.path(),
        &|root| trust.covers(root),
        notify,
    )?;
    refuse_clear(session)?;
    let has_drift_record = session.environment.commits_drift_record();
    Ok(Some(prepared.with_drift_record(has_drift_record)))
}

/// Refuses secrets in clear text that the commit of the record would add, unless the user permits them.
fn refuse_clear(session: &Session) -> Result<(), Failure> {
    let mut allowed = session.options.allowed.iter();
    if allowed.any(|name| name.trim() == CLEAR_PERMISSION) {
        return Ok(());
    }
    let record = RecordFiles::of(session.manifest.path());
    let secrets = secret_values(session);
    if !secrets.iter().any(|secret| record.is_record(&secret.path)) {
        return Ok(());
    }
    let repositories = distinct_repositories(involved_repositories(session)?);
    let repositories: Vec<&Repository> = repositories.iter().collect();
    refuse_clear_values(&secrets, &repositories, &|path| record.is_record(path))
}

/// Refuses uncommitted changes in the repositories of the ensemble, its project, its environment and its
/// service template.
///
/// The ensemble's own record does not count: jobs write it, and the commit includes it.
fn refuse_uncommitted(session: &Session) -> Result<(), Failure> {
    let record = RecordFiles::of(session.manifest.path());
    for repository in distinct_repositories(involved_repositories(session)?) {
        let changed = repository.uncommitted()?;
        let changed: Vec<_> = changed
            .into_iter()
            .filter(|path| !record.is_record(&repository.root().join(path)))
            .collect();
        if !changed.is_empty() {
            return Err(uncommitted_failure(repository.root(), &changed));
        }
    }
    Ok(())
}

fn uncommitted_failure(root: &Path, changed: &[PathBuf]) -> Failure {
    let mut files: Vec<String> = changed
        .iter()
        .take(MAX_NAMED_FILES)
        .map(|path| format!("`{}`", path.display()))
        .collect();
    if changed.len() > MAX_NAMED_FILES {
        files.push(format!("{} more", changed.len() - MAX_NAMED_FILES));
    }
    let message = format!(
        "the repository `{}` has uncommitted changes: {}",
        root.display(),
        files.join(", ")
    );
    let help = "commit or stash them (`git stash`), or run the job with `--dirty ok`";
    Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
}

impl From<CommitError> for Failure {
    fn from(refusal: CommitError) -> Self {
        let hint = refusal.hint();
        Self::new(FailureKind::Refused, refusal, hint)
    }
}

impl From<&NotInGit> for Failure {
    fn from(error: &NotInGit) -> Self {
        Self::new(FailureKind::JobFailed, error, Some(error.hint()))
    }
}
