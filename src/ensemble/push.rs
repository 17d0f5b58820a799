//! Pushes committed records. If the remote has new commits, the local ones are rebased onto them with a merge
//! of the records. A push is never forced.

use std::time::Duration;

use super::record_files::RecordFiles;
use super::record_rebase::RecordRebase;
use crate::git::{Error, PushOutcome, Repository};

/// The maximum number of attempts if other users keep pushing first.
const MAX_TRIES: usize = 10;
/// The time limit for fetching the commits of others.
const FETCH_TIMEOUT: Duration = Duration::from_mins(2);

/// A successful push: the new head of the remote branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PushedRecord {
    /// The commit id that the remote branch now has.
    pub(crate) head: String,
    /// The remote and the branch, such as `origin/main`.
    pub(crate) to: String,
}

/// The result of a push.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PushReport {
    /// The successful push; `None` if the remote had all commits.
    pub(crate) pushed: Option<PushedRecord>,
    /// The local jobs whose ids another clone had used as well: the old and the new id.
    pub(crate) renamed_jobs: Vec<(String, String)>,
}

/// Pushes the commits that the remote does not have. `report` gets the result, also of the steps before an error.
pub(crate) fn push(
    repository: &Repository,
    record: &RecordFiles,
    report: &mut PushReport,
) -> Result<(), Error> {
    let detached = || Error::Detached {
        path: repository.root().to_owned(),
    };
    let target = repository.push_target().ok_or_else(detached)?;
    let has_all = || {
        let distance = repository.divergence(&target)?;
        Ok::<_, Error>(distance.is_some_and(|distance| distance.ahead == 0))
    };
    if has_all()? {
        return Ok(());
    }
    for _ in 0..MAX_TRIES {
        if repository.push(&target)? == PushOutcome::Done {
            let head = repository.head()?.unwrap_or_default();
            report.pushed = Some(PushedRecord {
                head,
                to: target.to_string(),
            });
            return Ok(());
        }
        repository.fetch(&target, FETCH_TIMEOUT)?;
        let mut rebase = RecordRebase::prepare(repository, record, &target)?;
        repository.rebase(&target, &mut rebase)?;
        rebase.rename_local_files();
        report.renamed_jobs.extend(rebase.renamed_jobs());
        if has_all()? {
            // The rebase found all local changes in the remote's commits.
            return Ok(());
        }
    }
    Err(Error::ConcurrentCommit {
        path: repository.root().to_owned(),
    })
}
