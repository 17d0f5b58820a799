//! Pushes committed records. If the remote has new commits, the local ones are rebased onto them with a merge
//! of the records. A push is never forced.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::merging::{merge_ensembles, merge_job_lists};
use super::record_files::RecordFiles;
use crate::git::{Error, FileVersions, MergedFile, PushOutcome, Repository};
use crate::system::fs;

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

/// Pushes the commits that the remote does not have. Returns `None` if there are none.
pub(crate) fn push(
    repository: &Repository,
    record: &RecordFiles,
) -> Result<Option<PushedRecord>, Error> {
    let detached = || Error::Detached {
        path: repository.root().to_owned(),
    };
    let target = repository.push_target().ok_or_else(detached)?;
    let has_all = || {
        let distance = repository.divergence(&target)?;
        Ok::<_, Error>(distance.is_some_and(|distance| distance.ahead == 0))
    };
    if has_all()? {
        return Ok(None);
    }
    for _ in 0..MAX_TRIES {
        if repository.push(&target)? == PushOutcome::Done {
            let head = repository.head()?.unwrap_or_default();
            return Ok(Some(PushedRecord {
                head,
                to: target.to_string(),
            }));
        }
        repository.fetch(&target.remote, FETCH_TIMEOUT)?;
        let is_ours = |path: &Path| record_at(repository, record, path).is_some();
        repository.rebase(&target, &is_ours, &mut |path, versions| {
            merge(
                record_at(repository, record, path),
                &repository.root().join(path),
                versions,
            )
        })?;
        if has_all()? {
            // The rebase found all local changes in the remote's commits.
            return Ok(None);
        }
    }
    Err(Error::ConcurrentCommit {
        path: repository.root().to_owned(),
    })
}

/// Returns the ensemble to whose record a file of the repository belongs.
fn record_at(repository: &Repository, record: &RecordFiles, path: &Path) -> Option<RecordFiles> {
    let path = repository.root().join(path);
    let belongs = |record: &RecordFiles| record.is_record(&path) || record.is_task_output(&path);
    if belongs(record) {
        return Some(record.clone());
    }
    let folders = path.ancestors().skip(1);
    let mut folders = folders.take_while(|folder| folder.starts_with(repository.root()));
    let base: PathBuf = folders
        .find(|folder| fs::is_file(&folder.join("jobs.tsv")))?
        .to_owned();
    let other = RecordFiles::of(&base.join("ensemble.yaml"));
    belongs(&other).then_some(other)
}

fn merge(record: Option<RecordFiles>, path: &Path, versions: &FileVersions) -> MergedFile {
    let text = |version: &Option<Vec<u8>>| {
        let bytes = version.clone().unwrap_or_default();
        String::from_utf8(bytes).ok()
    };
    let (Some(base), Some(theirs), Some(ours)) = (
        text(&versions.base),
        text(&versions.theirs),
        text(&versions.ours),
    ) else {
        return MergedFile::Conflict;
    };
    let is_there = versions.theirs.is_some() && versions.ours.is_some();
    if !is_there {
        return MergedFile::Conflict;
    }
    if path.file_name().is_some_and(|name| name == "jobs.tsv") {
        return MergedFile::Text(merge_job_lists(&base, &theirs, &ours).into_bytes());
    }
    if record.is_some_and(|record| record.manifest() == path) {
        return match merge_ensembles(&base, &theirs, &ours, ["theirs", "ours"]) {
            Some(merged) if merged.conflicts.is_empty() => {
                MergedFile::Text(merged.text.into_bytes())
            }
            Some(_) | None => MergedFile::Conflict,
        };
    }
    MergedFile::LineByLine
}
