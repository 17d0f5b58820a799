//! Saves the goal and progress of an interrupted job, from which a job with `--resume` continues.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::failure::{Failure, FailureKind};
use super::request::JobRequest;
use crate::ensemble::{self, RecordedHistory};
use crate::job::Report;
use crate::plan::{JobGoal, ResumedPlan};
use crate::session::Session;
use crate::system::fs;

/// The last interrupted job, as stored in `jobs/<manifest>.interrupted.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct InterruptedJob {
    pub(super) job: String,
    /// The goal, if it is known.
    pub(super) goal: Option<JobGoal>,
    /// The completed operations: keys of targets and operation names.
    pub(super) done: Vec<(String, String)>,
    /// The planned operations, by the keys of their targets.
    pub(super) planned: BTreeMap<String, Vec<String>>,
    /// The digest of the specification that was planned.
    pub(super) spec: String,
}

/// The folder of the data, beside the manifest.
const FOLDER: &str = "jobs";

/// Returns the path of the data in the folder of the manifest.
fn path(manifest: &Path) -> PathBuf {
    let name = manifest.file_name().unwrap_or_default().to_string_lossy();
    Path::new(FOLDER).join(format!("{name}.interrupted.json"))
}

/// Saves the data needed to resume a job.
pub(super) fn save(manifest: &Path, job: &InterruptedJob) -> Result<(), fs::Error> {
    let text = serde_json::to_vec(job).unwrap_or_default();
    let folder = ensemble::open_folder(manifest)?;
    folder.create_dir_all(Path::new(FOLDER))?;
    folder.write_atomic(&path(manifest), &text, None)
}

/// Removes the data, because another job has run since.
pub(super) fn remove(manifest: &Path) {
    // A file that cannot be removed is recognized as outdated by its job id.
    let folder = ensemble::open_folder(manifest);
    folder
        .and_then(|folder| folder.remove_file_if_exists(&path(manifest)))
        .ok();
}

/// Saves the goal of an interrupted job, or removes the data if the job was not interrupted.
pub(super) fn update(report: &Report, session: &Session, planned: &BTreeMap<String, Vec<String>>) {
    let path = session.manifest.path();
    if report.interrupted.is_none() {
        return remove(path);
    }
    let done = report.records().filter(|task| task.is_ok());
    let mut done: Vec<_> = done
        .map(|task| (task.target.unique_key.clone(), task.operation.to_string()))
        .collect();
    done.extend(report.goal.resumed.done.iter().cloned());
    let job = InterruptedJob {
        job: report.head.id.to_string(),
        goal: Some(report.goal.clone()),
        done,
        planned: planned.clone(),
        spec: session.manifest.spec_digest(),
    };
    save(path, &job).ok();
}

/// Returns the goal of the interrupted job combined with its progress.
///
/// # Errors
///
/// There is no interrupted job, or it no longer matches the ensemble or the request.
pub(super) fn resumed_goal(
    request: &JobRequest,
    session: &Session,
    history: &RecordedHistory,
) -> Result<JobGoal, Failure> {
    let manifest = session.manifest.path();
    let bytes = ensemble::open_folder(manifest)
        .and_then(|folder| folder.read(&path(manifest), fs::MAX_READ_BYTES))
        .ok();
    let job = bytes.and_then(|bytes| serde_json::from_slice::<InterruptedJob>(&bytes).ok());
    let goal = job.as_ref().and_then(|job| job.goal.clone());
    let Some((job, goal)) = job.zip(goal) else {
        return Err(refused("there is no interrupted job to resume"));
    };
    let later = history.last_job();
    if later.is_some_and(|later| later.as_str() > job.job.as_str()) {
        return Err(refused(
            "another job has run since the one that was interrupted",
        ));
    }
    if job.spec != session.manifest.spec_digest() {
        return Err(refused(
            "the ensemble was changed since the job was interrupted",
        ));
    }
    if goal.workflow != request.goal.workflow {
        let message = format!("the interrupted job is a `{}`", command(&goal));
        let hint = format!("`unfurl {} --resume` resumes it", command(&goal));
        return Err(Failure::new(FailureKind::Refused, message, Some(hint)));
    }
    let resumed = ResumedPlan {
        done: job.done.into_iter().collect(),
        planned: job.planned,
    };
    Ok(request.goal.resume_from(goal, resumed))
}

fn command(goal: &JobGoal) -> &str {
    match goal.workflow.as_str() {
        "undeploy" => "teardown",
        other => other,
    }
}

fn refused(message: &str) -> Failure {
    let hint = "run the command without `--resume`: it makes a new plan from the record";
    Failure::new(FailureKind::Refused, message, Some(hint.to_owned()))
}
