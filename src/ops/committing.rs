//! What a job leaves is committed: one commit of exactly the files of its record.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::commits::{CommitMade, Commits};
use super::dirty;
use super::failure::{Failure, FailureKind};
use super::repositories::refused;
use super::request::{CommitRequest, JobRequest};
use super::view::View;
use crate::ensemble::RecordFiles;
use crate::ensemble::push_record;
use crate::git::{Committed, Error, MergeRule, Repository};
use crate::session::Session;
use crate::system::env;

/// A job whose record is to be committed.
#[derive(Debug)]
pub(super) struct JobCommit {
    request: CommitRequest,
    repository: Repository,
    record: RecordFiles,
    /// What was changed before the job.
    before: HashSet<PathBuf>,
}

impl JobCommit {
    /// Looks, before the job runs, whether it may run here and whether the commit can be made.
    pub(super) fn prepare(
        request: &JobRequest,
        session: &Session,
        view: &mut dyn View,
    ) -> Result<Option<Self>, Failure> {
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
        let record = RecordFiles::of(session.manifest.path());
        let repository = ready(&record, &commit, view)?;
        let mut prepared = Self {
            request: commit,
            repository,
            record,
            before: HashSet::new(),
        };
        let before = prepared.changed().map_err(|error| refused(&error))?;
        prepared.before = before.into_iter().collect();
        Ok(Some(prepared))
    }

    /// What is changed in the ensemble's folder.
    fn changed(&self) -> Result<Vec<PathBuf>, Error> {
        let files = self.repository.file_changes(&[self.record.base()])?;
        let root = self.repository.root();
        Ok(files.into_iter().map(|path| root.join(path)).collect())
    }

    /// Commits what the job with this id has left, and pushes it if asked to.
    pub(super) fn after(&self, job: &str) -> Commits {
        let of_job = |path: &PathBuf| {
            self.record.has(path) || (self.record.is_left(path) && !self.before.contains(path))
        };
        self.commit(job, of_job)
    }

    /// Where nothing was to be done: commits what an earlier job has left, if that is a record.
    pub(super) fn without_job(&self, last: Option<&str>) -> Commits {
        let pending = self
            .before
            .iter()
            .any(|path| self.record.is_told_apart(path));
        match last.filter(|_| pending) {
            Some(job) => self.commit(job, |path| self.record.has(path)),
            None => self.commit("", |_| false),
        }
    }

    fn commit(&self, job: &str, is_meant: impl Fn(&PathBuf) -> bool) -> Commits {
        let mut commits = Commits::default();
        let message = self.request.message.clone();
        let message = message.unwrap_or_else(|| default_message(Some(job)));
        let made = self.changed().and_then(|mut files| {
            files.retain(|path| is_meant(path));
            if files.is_empty() {
                return Ok(None);
            }
            self.repository.commit(&files, &message)
        });
        match made {
            Ok(made) => add_commit(&mut commits, &self.repository, made),
            Err(error) => {
                commits.failure = Some(kept("committed", "unfurl commit", &error));
                return commits;
            }
        }
        install(&self.repository, &self.record, &mut commits);
        if self.request.push {
            push_and_tell(&self.repository, &self.record, &mut commits);
        }
        commits
    }
}

/// The message of a commit that nobody gave one.
pub(super) fn default_message(job: Option<&str>) -> String {
    job.map_or_else(
        || "Commit by Unfurl".to_owned(),
        |job| format!("Updating status for job {job}"),
    )
}

/// The repository of an ensemble, if what a job will leave can be committed there.
fn ready(
    record: &RecordFiles,
    request: &CommitRequest,
    view: &mut dyn View,
) -> Result<Repository, Failure> {
    let option = if request.push { "--push" } else { "--commit" };
    let refuse = |message: String, help: &str| {
        Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
    };
    let found = Repository::discover(record.base()).map_err(|error| refused(&error))?;
    let Some(repository) = found else {
        let message = format!(
            "`{}` is in no git repository, so `{option}` has nowhere to go",
            record.base().display()
        );
        return Err(refuse(
            message,
            "make one with `git init`, or leave the option out",
        ));
    };
    repository
        .ready_to_commit()
        .map_err(|error| refused(&error))?;
    let manifest = record.manifest();
    let ignored = repository.is_ignored(manifest).unwrap_or(false);
    let is_new = repository.head().ok().flatten();
    let is_new = is_new.is_none_or(|head| repository.id_at(&head, manifest).is_none());
    if ignored && is_new {
        let message = format!(
            "git is told to ignore `{}`, so `{option}` has nothing to commit",
            manifest.display()
        );
        return Err(refuse(
            message,
            "see `git check-ignore -v` for the line that says so",
        ));
    }
    if repository.is_detached() {
        let detached = Error::Detached {
            path: repository.root().to_owned(),
        };
        if request.push {
            return Err(refused(&detached));
        }
        view.notice(&format!("{detached}: the commit will be on none"));
    } else if request.push && repository.push_target().is_none() {
        let message = format!("`{}` has no remote to push to", repository.root().display());
        let help = "add one with `git remote add origin URL`; where there are several, `git push -u` \
                    says which";
        return Err(refuse(message, help));
    }
    Ok(repository)
}

/// Adds a commit to what is told.
pub(super) fn add_commit(commits: &mut Commits, repository: &Repository, made: Option<Committed>) {
    let Some(made) = made else {
        return;
    };
    commits.warnings.extend(made.warnings);
    commits.made.push(CommitMade {
        repository: repository.root().to_owned(),
        id: Some(made.id),
        files: made.files,
        pushed: None,
    });
}

/// Pushes, and tells of it with the commit just made.
pub(super) fn push_and_tell(repository: &Repository, record: &RecordFiles, commits: &mut Commits) {
    match push_record(repository, record) {
        Ok(None) => {}
        Ok(Some(pushed)) => {
            let root = repository.root();
            let id = Some(pushed.head);
            if let Some(made) = commits.made.iter_mut().find(|made| made.repository == root) {
                // It may have been put on top of what others pushed meanwhile.
                made.id = id;
                made.pushed = Some(pushed.to);
            } else {
                commits.made.push(CommitMade {
                    repository: root.to_owned(),
                    id: None,
                    files: Vec::new(),
                    pushed: Some(pushed.to),
                });
            }
        }
        Err(error) => commits.failure = Some(kept("pushed", "unfurl commit --push", &error)),
    }
}

/// What a person must know when the record is saved but not in git.
fn kept(what: &str, again: &str, error: &Error) -> Failure {
    let message = format!("the record is saved, but could not be {what}: {error}");
    let hint = error.hint().map(|hint| format!("{hint}; then "));
    let help = format!("{}`{again}` tries again", hint.unwrap_or_default());
    Failure::new(FailureKind::JobFailed, message, Some(help))
}

/// Tells git how records are merged; that this fails is no reason to stop.
pub(super) fn install(repository: &Repository, record: &RecordFiles, commits: &mut Commits) {
    if commits.made.is_empty() {
        return;
    }
    let Ok(path) = env::current_exe() else {
        return;
    };
    let Some(manifest) = repository.relative(record.manifest()) else {
        return;
    };
    let (pattern, probe) = (
        pattern_of(&manifest),
        manifest.to_string_lossy().into_owned(),
    );
    let jobs = record.base().join("jobs.tsv");
    let jobs = repository.relative(&jobs).unwrap_or_default();
    let jobs = jobs.to_string_lossy();
    let rules = [
        MergeRule {
            pattern: &pattern,
            probe: &probe,
            driver: "unfurl",
        },
        MergeRule {
            pattern: "**/*jobs.tsv",
            probe: &jobs,
            driver: "union",
        },
    ];
    let command = format!(
        "'{}' merge-driver %O %A %B %P",
        path.to_string_lossy()
            .replace('\'', "'\\''")
            .replace('%', "%%")
    );
    let driver = ("unfurl", "merges the records of ensembles", &*command);
    if let Err(error) = repository.ensure_merged(driver, &rules) {
        let warning = format!("git was not told how records are merged: {error}");
        commits.warnings.push(warning);
    }
}

/// The pattern of git's attributes for one file.
fn pattern_of(path: &Path) -> String {
    if path.file_name().is_some_and(|name| name == "ensemble.yaml") {
        return "ensemble.yaml".to_owned();
    }
    let mut escaped = String::from("/");
    for c in path.to_string_lossy().chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    if escaped.contains([' ', '\t', '"', '#', '!']) {
        return format!("\"{}\"", escaped.replace('\\', "\\\\").replace('"', "\\\""));
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_one_file() {
        let pattern = |path: &str| pattern_of(Path::new(path));
        assert_eq!(pattern("a/ensemble.yaml"), "ensemble.yaml");
        assert_eq!(pattern("a/b*.yaml"), "/a/b\\*.yaml");
        assert_eq!(pattern("a b/c.yaml"), "\"/a b/c.yaml\"");
    }
}
