//! Looks, before a job runs, whether what it leaves can be committed.

use super::dirty;
use super::failure::{Failure, FailureKind};
use super::request::JobRequest;
use super::view::View;
use crate::ensemble::{CommitRefusal, NotInGit, RecordCommit};
use crate::session::Session;

/// The commit of a job, if one is asked for. Fails where the job may not run, or where the commit
/// could not be made.
pub(super) fn prepare(
    request: &JobRequest,
    session: &Session,
    view: &mut dyn View,
) -> Result<Option<RecordCommit>, Failure> {
    if request.save.refuse_dirty {
        dirty::refuse_uncommitted(session)?;
    }
    let Some(commit) = request.save.commit.clone() else {
        return Ok(None);
    };
    if request.goal.dry_run {
        return Ok(None);
    }
    if !request.save.record {
        view.notice("a run that is not saved leaves nothing to commit; `--save` saves it");
        return Ok(None);
    }
    let tell = &mut |text: &str| view.notice(text);
    Ok(Some(RecordCommit::prepare(
        commit,
        session.manifest.path(),
        tell,
    )?))
}

impl From<CommitRefusal> for Failure {
    fn from(refusal: CommitRefusal) -> Self {
        let hint = refusal.hint();
        Self::new(FailureKind::Refused, refusal, hint)
    }
}

impl From<&NotInGit> for Failure {
    fn from(error: &NotInGit) -> Self {
        Self::new(FailureKind::JobFailed, error, Some(error.hint()))
    }
}
