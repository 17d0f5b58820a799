//! Crash recovery: records the results of crashed jobs from their journals, before the next job plans.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::planned_job;
use super::request::JobRequest;
use super::resume::{self, InterruptedJob};
use super::tool_states;
use crate::ensemble::{
    CrashedJob, JobFolders, JournalFile, JournalFileError, LockedEnsemble, LogFile, Manifest,
    Record, WorkingFolders,
};
use crate::job::{FolderKey, TaskFolders as _};
use crate::lock::{Lock, LockState};
use crate::session::SessionOptions;
use crate::session::{self, EnsembleLocation};
use crate::system::{clock, fs, user};

/// The message about crashed jobs whose results are not saved.
const CRASHED: &str =
    "a job crashed, and its results are not recorded yet; the next job records them";

/// Records all crashed jobs, oldest first, and reports them. Then updates the values derived from instances.
pub(super) fn recover(
    locked: &LockedEnsemble,
    found: &EnsembleLocation,
    request: &JobRequest,
    view: &mut dyn JobFrontend,
) -> Result<(), Failure> {
    let taken = tool_states::recover_states(found, view)?;
    let path = &found.located.manifest;
    let journals = locked.crashed_journals(path);
    let journals = journals.map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, hint)
    })?;
    if journals.is_empty() {
        return Ok(());
    }
    for path in &journals {
        recover_job(path, locked, found, &taken, view)?;
    }
    LogFile::remove_abandoned();
    update_computed_status(locked, found, request)
}

fn recover_job(
    path: &Path,
    locked: &LockedEnsemble,
    found: &EnsembleLocation,
    taken: &HashSet<String>,
    view: &mut dyn JobFrontend,
) -> Result<(), Failure> {
    let read_failure = |error: &dyn std::error::Error| refused(error, path);
    let owner = other_owner(path);
    let job = CrashedJob::read(path).map_err(|error| read_failure(&error))?;
    if let Some(mut job) = job {
        let manifest = session::manifest(found)?;
        let lost = tool_states::resources_without_state(&job, found, taken);
        for (task, text) in &lost {
            job.add_reports(*task, text.lines().map(str::to_owned).collect());
        }
        if !job.is_on_record(&manifest) {
            let record = job.record(&manifest, clock::now());
            if let Some(record) = record.map_err(|error| read_failure(&error))? {
                move_folders(&job, &manifest, view);
                save_goal(&job, &manifest);
                let saved = locked.record(&record, &manifest);
                saved.map_err(|error| read_failure(&error))?;
            }
        }
        report_recovery(&job, owner.as_deref(), view);
        for (_, text) in &lost {
            view.notice(text);
        }
        if !job.damaged_lines.is_empty() {
            // The user may still be able to read lines that the program cannot.
            let kept = path.with_extension("journal.damaged");
            JournalFile::rename_of(&found.located.manifest, path, &kept)
                .map_err(|error| read_failure(&error))?;
            return Err(damaged_failure(&kept, job.damaged_lines[0]));
        }
    }
    JournalFile::remove_of(&found.located.manifest, path).map_err(|error| read_failure(&error))
}

/// Adds the results of crashed jobs to what is known of an ensemble, without saving them, so that a plan is that
/// of the next job. Returns a message if there are such jobs.
pub(super) fn recover_unsaved(
    found: &mut EnsembleLocation,
    request: &JobRequest,
) -> Result<Option<String>, Failure> {
    let Some(journals) = crashed_journals(found) else {
        return Ok(notice_of(found));
    };
    let mut message = CRASHED.to_owned();
    let mut is_changed = false;
    for path in &journals {
        match add_unsaved(path, found) {
            Ok(added) => is_changed |= added,
            // The next job refuses to start. A plan from the record alone is better than none.
            Err(failure) => {
                let why = failure.problems.iter().next();
                let why = why.map_or_else(String::new, |why| why.message.clone());
                message = format!("{message}; {why}");
            }
        }
    }
    if is_changed {
        let (record, manifest) = computed_status(found, request)?;
        found
            .add_unsaved(&record, &manifest)
            .map_err(|error| refused(&error, manifest.path()))?;
    }
    Ok(Some(message))
}

/// Adds the results of a crashed job in memory. Returns whether they are not on record yet.
fn add_unsaved(path: &Path, found: &mut EnsembleLocation) -> Result<bool, Failure> {
    let job = CrashedJob::read(path).map_err(|error| refused(&error, path))?;
    let Some(job) = job else {
        return Ok(false);
    };
    let manifest = session::manifest(found)?;
    if job.is_on_record(&manifest) {
        return Ok(false);
    }
    let record = job.record(&manifest, clock::now());
    let Some(record) = record.map_err(|error| refused(&error, path))? else {
        return Ok(false);
    };
    found
        .add_unsaved(&record, &manifest)
        .map_err(|error| refused(&error, path))?;
    Ok(true)
}

/// Moves the working folders of the job's tasks to `active` or `failed`.
fn move_folders(job: &CrashedJob, manifest: &Manifest, view: &mut dyn JobFrontend) {
    let mut folders = JobFolders::new(WorkingFolders::new(manifest.base_dir()));
    for ((instance, operation), failed) in job.folders() {
        let key = FolderKey {
            instance,
            operation,
        };
        let moved = match failed {
            Some(id) => folders.fail(&key, &id),
            None => folders.activate(&key),
        };
        if let Err(error) = moved {
            view.notice(&format!(
                "files of `{}` cannot be moved: {error}",
                key.instance
            ));
        }
    }
    if let Err(error) = folders.sync() {
        view.notice(&format!(
            "the files of tasks may be lost if the power fails: {error}"
        ));
    }
}

/// Saves the goal of the crashed job for `--resume`.
fn save_goal(job: &CrashedJob, manifest: &Manifest) {
    let interrupted = InterruptedJob {
        job: job.id().to_owned(),
        goal: job.goal().cloned(),
        done: job.completed(),
        planned: job.planned().clone(),
        spec: manifest.spec_digest(),
    };
    // If this fails, the job cannot be resumed, but its results are recorded anyway.
    resume::save(manifest.path(), &interrupted).ok();
}

/// Returns the name of the user who ran the job, if that is another user.
fn other_owner(journal: &Path) -> Option<String> {
    let owner = fs::identity_of(journal).ok()?.owner;
    (owner != user::effective_id()).then(|| user::name_of(owner))
}

fn report_recovery(job: &CrashedJob, owner: Option<&str>, view: &mut dyn JobFrontend) {
    let doubts: Vec<String> = job
        .in_doubt()
        .map(|task| format!("{} on {}", task.operation, task.target))
        .collect();
    let tasks = match job.ended_count() {
        0 => "no task had finished".to_owned(),
        1 => "the task that had finished is recorded now".to_owned(),
        count => format!("the {count} tasks that had finished are recorded now"),
    };
    let doubt = match doubts.as_slice() {
        [] => String::new(),
        [one] => format!(", and one is in doubt: {one}"),
        all => format!(", and {} are in doubt: {}", all.len(), all.join(", ")),
    };
    let by = owner.map_or_else(String::new, |owner| format!(" of the user `{owner}`"));
    view.notice(&format!("the job {}{by} crashed: {tasks}{doubt}", job.id()));
}

/// Returns the failure for a damaged journal. The job may have done more than is recorded, so the user must
/// check before a new job runs.
fn damaged_failure(kept: &Path, line: usize) -> Failure {
    let message = format!(
        "the journal of a crashed job is damaged, so resources may exist that are not recorded; it \
         is kept as `{}` (line {line})",
        kept.display()
    );
    let hint = "inspect the journal and what exists; when you run the command again, it continues \
                from the record";
    Failure::new(FailureKind::Refused, message, Some(hint.to_owned()))
}

/// Updates derived values in the record: the status of dependent instances, inputs and outputs.
fn update_computed_status(
    locked: &LockedEnsemble,
    found: &EnsembleLocation,
    request: &JobRequest,
) -> Result<(), Failure> {
    let (record, manifest) = computed_status(found, request)?;
    locked
        .record(&record, &manifest)
        .map_err(|error| refused(&error, manifest.path()))
}

/// Returns a record of the status section with derived values, and the manifest for which it is.
fn computed_status(
    found: &EnsembleLocation,
    request: &JobRequest,
) -> Result<(Record, Manifest), Failure> {
    let mut session = session::load(found.clone(), &request.session)?;
    let folders = WorkingFolders::new(session.manifest.base_dir());
    let parts = planned_job::create_engine(request, &mut session, &folders)?;
    let mut engine = parts.engine;
    let path = session.manifest.path();
    let job = engine.id().map_err(|error| refused(&error, path))?;
    let status = engine.status_section();
    Ok((Record::of_status(job, status), session.manifest))
}

fn refused(error: &dyn std::error::Error, path: &Path) -> Failure {
    let message = format!("the results of a crashed job cannot be recorded: {error}");
    let hint = format!(
        "no job was started; `{}` contains the results of the crashed job: fix the problem and try \
         again, or check what exists and move that file away, so that jobs continue from the \
         record",
        path.display()
    );
    Failure::new(FailureKind::Refused, message, Some(hint))
}

/// Returns a message if the record of an ensemble is incomplete because a crashed job is not recorded yet.
pub fn notice(options: &SessionOptions) -> Option<String> {
    let found = session::find(options).ok()?;
    notice_of(&found)
}

pub(super) fn notice_of(found: &EnsembleLocation) -> Option<String> {
    let journals_found = match JournalFile::list_for(&found.located.manifest) {
        Err(error @ JournalFileError::Irregular { .. }) => {
            let hint = error.hint().unwrap_or_default();
            return Some(format!("{error}: {hint}"));
        }
        found => found.unwrap_or_default(),
    };
    is_crashed(&journals_found, found).then(|| CRASHED.to_owned())
}

/// Returns the journals of crashed jobs that are not recorded yet. None if there are none, or if they cannot be
/// listed.
fn crashed_journals(found: &EnsembleLocation) -> Option<Vec<PathBuf>> {
    let journals = JournalFile::list_for(&found.located.manifest).ok()?;
    is_crashed(&journals, found).then_some(journals)
}

/// Returns true if journals are those of crashed jobs. A running job also has a journal.
fn is_crashed(journals: &[PathBuf], found: &EnsembleLocation) -> bool {
    let is_held = || {
        matches!(
            Lock::state(&found.located.manifest),
            Ok(LockState::Held { .. } | LockState::Ours | LockState::Unreadable)
        )
    };
    !journals.is_empty() && !is_held()
}
