//! A job that was interrupted: what it was to reach, and what it has done of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::failure::{Failure, FailureKind};
use super::request::JobRequest;
use crate::ensemble::RecordedHistory;
use crate::job::Report;
use crate::plan::{JobGoal, ResumedPlan};
use crate::session::Session;
use crate::system::fs;

/// The last job that was interrupted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct InterruptedJob {
    /// Its id.
    pub(super) job: String,
    /// What it was to reach, where that is known.
    pub(super) goal: Option<JobGoal>,
    /// What it has done: keys of targets and operations.
    pub(super) done: Vec<(String, String)>,
    /// What it planned: operations by the keys of their targets.
    pub(super) planned: BTreeMap<String, Vec<String>>,
    /// The digest of the specification it was made from.
    pub(super) spec: String,
}

fn path(manifest: &Path) -> PathBuf {
    let name = manifest.file_name().unwrap_or_default().to_string_lossy();
    let jobs = manifest.with_file_name("jobs");
    jobs.join(format!("{name}.interrupted.json"))
}

/// Keeps what is needed to go on with a job.
pub(super) fn save(manifest: &Path, job: &InterruptedJob) -> Result<(), fs::Error> {
    let text = serde_json::to_vec(job).unwrap_or_default();
    fs::create_dir_all(&manifest.with_file_name("jobs"))?;
    fs::write_atomic(&path(manifest), &text, None)
}

/// Forgets it: another job has run since.
pub(super) fn remove(manifest: &Path) {
    // One that stays behind is recognised by its id.
    fs::remove_file_if_exists(&path(manifest)).ok();
}

/// Keeps what an interrupted job was to reach; one that came to its end leaves nothing.
pub(super) fn update(report: &Report, session: &Session, planned: &BTreeMap<String, Vec<String>>) {
    let path = session.manifest.path();
    if report.interrupted.is_none() {
        return remove(path);
    }
    let done = report.records().filter(|task| task.is_ok());
    let mut done: Vec<_> = done
        .map(|task| (task.target.whole_key.clone(), task.operation.to_string()))
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

/// The goal of the interrupted job, with what it has done, for going on with it.
pub(super) fn resumed_goal(
    request: &JobRequest,
    session: &Session,
    history: &RecordedHistory,
) -> Result<JobGoal, Failure> {
    let bytes = fs::read(&path(session.manifest.path())).ok();
    let job = bytes.and_then(|bytes| serde_json::from_slice::<InterruptedJob>(&bytes).ok());
    let goal = job.as_ref().and_then(|job| job.goal.clone());
    let Some((job, goal)) = job.zip(goal) else {
        return Err(refused("there is no interrupted job to go on with"));
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
        let hint = format!("`unfurl {} --resume` goes on with it", command(&goal));
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
    let hint = "run the command without `--resume`: it plans afresh from what is on record";
    Failure::new(FailureKind::Refused, message, Some(hint.to_owned()))
}
