//! Appends the summary of a job to the page of a GitHub workflow.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::output::Output;
use crate::job::{InstanceAction, LogLevel, ReportedTask};
use crate::name::Status;
use crate::ops::JobReport;
use crate::system::fs::{self, Beneath};
use crate::ui::{StepInstance, StepResult, StepSummary, count_actions, done_counts};

/// GitHub shows no summary of a step that is larger than this.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Appends the summary of a job to the file that GitHub shows, in a workflow of GitHub.
pub(super) fn append(report: &JobReport, output: &Output) {
    let path = output
        .variable("GITHUB_STEP_SUMMARY")
        .filter(|path| !path.is_empty());
    let is_github = output.variable("GITHUB_ACTIONS") == Some("true");
    let Some(path) = path.map(PathBuf::from).filter(|_| is_github) else {
        return;
    };
    if let Err(reason) = append_to(&path, &summary(report).markdown()) {
        let text = format!("the summary for GitHub is not written: {reason}");
        output.message(LogLevel::Warning, &text);
    }
}

fn append_to(path: &Path, text: &str) -> Result<(), String> {
    let before = fs::read_to_string(path).map_or(0, |before| before.len());
    if before + text.len() > MAX_FILE_BYTES {
        let shown = path.display();
        return Err(format!(
            "`{shown}` would exceed GitHub's limit of 1 MiB for a step"
        ));
    }
    let (folder, name) = path
        .parent()
        .zip(path.file_name())
        .ok_or("no file is named")?;
    let folder = Beneath::open(folder).map_err(|error| error.to_string())?;
    let appended = folder.append_durable(Path::new(name), text.as_bytes());
    appended.map_err(|error| error.to_string())
}

/// Converts the report of a job to its summary.
fn summary(report: &JobReport) -> StepSummary {
    let job = &report.job;
    let instances = instances(&job.tasks);
    let of = |result: StepResult| instances.iter().filter(move |it| it.result == result);
    let done = done_counts(&count_actions(of(StepResult::Done).map(|it| it.action)));
    let mut counts = Vec::new();
    for (result, word) in [
        (StepResult::Failed, "failed"),
        (StepResult::NotRun, "not run"),
    ] {
        let count = of(result).count();
        if count > 0 {
            counts.push(format!("{count} {word}"));
        }
    }
    counts.extend(Some(done).filter(|done| !done.is_empty()));
    let removes = matches!(job.goal.workflow, crate::plan::WorkflowKind::Undeploy);
    let outputs = job.values.outputs.iter().filter(|_| !removes);
    StepSummary {
        id: job.head.id.to_string(),
        workflow: job.head.workflow.clone(),
        result: match (report.declined, job.interrupted) {
            (true, _) => "declined".to_owned(),
            (false, Some(_)) => "interrupted".to_owned(),
            (false, None) => job.status.as_str().to_owned(),
        },
        counts: counts.join(", "),
        elapsed: Some(report.elapsed),
        instances,
        outputs: outputs
            .map(|(name, value)| (name.to_string(), value.redacted().to_string()))
            .collect(),
    }
}

/// Returns the instances that a job worked on, in the order of their first tasks.
fn instances(tasks: &[ReportedTask]) -> Vec<StepInstance> {
    let mut instances: IndexMap<&str, StepInstance> = IndexMap::new();
    for task in tasks {
        let record = &*task.record;
        let Some(status) = record.status() else {
            continue;
        };
        let action = InstanceAction::of_task(&record.operation, &record.reason);
        let key = record.unit.instance.as_str();
        let instance = instances.entry(key).or_insert_with(|| StepInstance {
            name: key.trim_start_matches("::").replace(":::", ":"),
            action,
            result: StepResult::Done,
            detail: String::new(),
        });
        instance.action = instance.action.combine(action);
        let operation = record.operation.operation.as_str();
        if record.is_blocked() {
            // The failure of an earlier operation counts more.
            if instance.result == StepResult::Done {
                instance.result = StepResult::NotRun;
                instance.detail = format!("{operation}: {}", record.errors().join("; "));
            }
        } else if status == Status::Error && instance.result != StepResult::Failed {
            instance.result = StepResult::Failed;
            instance.detail = format!("{operation}: {}", record.errors().join("; "));
        } else if instance.result == StepResult::Done {
            let comma = if instance.detail.is_empty() { "" } else { ", " };
            instance.detail = format!("{}{comma}{operation}", instance.detail);
        }
    }
    instances.into_values().collect()
}
