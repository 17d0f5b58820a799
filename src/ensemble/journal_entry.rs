//! The serialized form of events in a job's journal.
//!
//! The entries contain enough data to write the job's record after a crash, without the model. Records are
//! stored as YAML text, exactly as they are written at the end of the job.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::change_records::{job_start_record, task_record, task_start_record};
use crate::job::{InstanceChange, JobEvent, JobStart, TaskRecord};
use crate::plan::JobGoal;
use crate::value::{Map, Value};
use crate::yaml;

/// An entry of a job's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
pub enum JournalEntry {
    #[serde(rename = "began")]
    JobStarted(Box<JobStartEntry>),
    /// A task is about to change its target. This entry is durable before the task acts.
    #[serde(rename = "started")]
    TaskStarted(TaskStartEntry),
    /// A running task has reported something that a recovery needs. Older program versions name such lines as damaged.
    #[serde(rename = "progress")]
    TaskProgress {
        /// The number of the task within the job in starting order, from 1.
        task: usize,
        message: String,
    },
    #[serde(rename = "ended")]
    TaskEnded(Box<TaskEndEntry>),
    /// The record of an instance has changed.
    #[serde(rename = "instance")]
    InstanceChanged(InstanceEntry),
    /// The steps of these groups are done, so their instances are no longer half-done.
    #[serde(rename = "settled")]
    GroupsSettled {
        groups: Vec<usize>,
        /// Ended tasks whose records have changed since. Older program versions ignore this field.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        amended: Vec<TaskEndEntry>,
    },
    /// A task has added a node template to the model.
    #[serde(rename = "template")]
    TemplateAdded {
        name: String,
        /// The node template in the form of the model, as YAML.
        text: String,
    },
    /// The job has ended; its record is written next.
    #[serde(rename = "finished")]
    JobFinished {
        /// The final status of the job.
        status: String,
    },
}

/// The first entry of a journal, which describes the job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStartEntry {
    pub id: String,
    /// The start time, in microseconds since 1970.
    pub start: i64,
    /// The known part of the job's record as YAML: from `changeId` to `readyState`.
    pub record: String,
    /// Identifies the processes of this run, so that a later run can find survivors.
    pub token: Option<String>,
    /// The goal of the job, from which a later job with `--resume` plans again.
    pub goal: Option<JobGoal>,
    /// The operations completed by the job that this job resumes: keys of targets and operation names.
    pub done: Vec<(String, String)>,
    /// The planned operations, by the keys of their targets.
    pub planned: BTreeMap<String, Vec<String>>,
}

/// The entry of a task that is about to act.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStartEntry {
    /// The number of the task within the job in starting order, from 1.
    pub task: usize,
    /// The whole key of the target, unique among all topologies.
    pub target: String,
    /// The operation in the form `interface.operation`, such as `Standard.create`.
    pub operation: String,
    /// The whole key of the instance that the job is working on.
    pub turn: String,
    /// The path of keys from the `status` section to that instance.
    pub route: Vec<String>,
    /// The record to use if the task's end is never recorded, as YAML without `changeId`.
    pub record: String,
    /// The working folder of the task: the target's directory name and the operation's name.
    pub folder: (String, String),
}

/// The entry of a task that has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are independent")]
pub struct TaskEndEntry {
    /// The number of the task within the job in starting order, from 1.
    pub task: usize,
    /// The whole key of the target, unique among all topologies.
    pub target: String,
    /// The operation in the form `interface.operation`, such as `Standard.create`.
    pub operation: String,
    /// The working folder of the task: the target's directory name and the operation's name.
    pub folder: (String, String),
    /// The record of the task as YAML.
    pub record: String,
    pub success: bool,
    /// Whether the task changed its target.
    pub changed: bool,
    /// Whether the task belongs in the committed record file.
    pub committed: bool,
    /// Whether the task was skipped, so that it never ran.
    pub skipped: bool,
    /// The group of steps that the task belongs to; `None` for subtasks and single operations.
    pub group: Option<usize>,
    /// The workflow of that group, such as `deploy`.
    pub workflow: Option<String>,
    /// The whole key of the instance that the job is working on.
    pub turn: String,
    /// The path of keys from the `status` section to that instance.
    pub route: Vec<String>,
    /// The counter value of the last change id that the task used.
    pub number: u32,
}

/// The record of an instance at a point in time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceEntry {
    /// The path of keys from the `status` section to the instance.
    pub route: Vec<String>,
    /// The record as YAML, without hosted instances and without the nested topology; `None` if the instance
    /// has no record any more.
    pub record: Option<String>,
}

impl JournalEntry {
    /// Converts an event to an entry; `None` if the journal does not need the event. `token` identifies the
    /// processes of this run.
    pub(super) fn of(event: &JobEvent, token: &str) -> Option<Self> {
        Some(match event {
            JobEvent::JobStarted(start) => {
                Self::JobStarted(Box::new(JobStartEntry::of(start, token)))
            }
            JobEvent::TaskStarted(record) => Self::TaskStarted(TaskStartEntry::of(record)),
            JobEvent::TaskProgress { task, message } => Self::TaskProgress {
                task: *task,
                message: message.clone(),
            },
            JobEvent::TaskFinished(record) => Self::TaskEnded(Box::new(TaskEndEntry::of(record))),
            JobEvent::TaskAmended(record) => Self::GroupsSettled {
                groups: Vec::new(),
                amended: vec![TaskEndEntry::of(record)],
            },
            JobEvent::TemplateAdded { name, template } => Self::TemplateAdded {
                name: name.to_string(),
                text: yaml::emit(template, 0),
            },
            JobEvent::GroupsSettled(groups) => Self::GroupsSettled {
                groups: groups.clone(),
                amended: Vec::new(),
            },
            JobEvent::InstanceChanged(change) => Self::InstanceChanged(InstanceEntry::of(change)),
            JobEvent::JobFinished { status, .. } => Self::JobFinished {
                status: (*status).to_owned(),
            },
            JobEvent::Message { .. } | JobEvent::Problem(_) => return None,
        })
    }
}

impl JobStartEntry {
    fn of(start: &JobStart, token: &str) -> Self {
        let goal = &start.goal;
        let mut done: Vec<(String, String)> = goal.resumed.done.iter().cloned().collect();
        done.sort_unstable();
        Self {
            id: start.head.id.to_string(),
            start: start.head.start.as_microsecond(),
            record: text_of(job_start_record(start)),
            token: Some(token.to_owned()),
            goal: Some(goal.clone()),
            done,
            planned: start.planned.clone(),
        }
    }
}

impl TaskStartEntry {
    fn of(record: &TaskRecord) -> Self {
        Self {
            task: record.task,
            target: record.target.unique_key.clone(),
            operation: record.operation.to_string(),
            turn: record.unit.instance.clone(),
            route: record.unit.record_path.clone(),
            record: text_of(task_start_record(record)),
            folder: folder_of(record),
        }
    }
}

impl TaskEndEntry {
    fn of(record: &TaskRecord) -> Self {
        let turn = &record.unit;
        Self {
            task: record.task,
            target: record.target.unique_key.clone(),
            operation: record.operation.to_string(),
            folder: folder_of(record),
            record: text_of(task_record(record, "")),
            success: record.is_ok(),
            changed: record.has_changed(),
            committed: record.is_committed(),
            skipped: record.end.is_none(),
            group: turn.group,
            workflow: turn.workflow.clone(),
            turn: turn.instance.clone(),
            route: turn.record_path.clone(),
            number: record.end.as_ref().map_or(0, |end| end.number),
        }
    }
}

impl InstanceEntry {
    fn of(change: &InstanceChange) -> Self {
        Self {
            route: change.record_path.clone(),
            record: change.record.clone().map(text_of),
        }
    }
}

fn folder_of(record: &TaskRecord) -> (String, String) {
    let folder = &record.folder;
    (folder.instance.clone(), folder.operation.clone())
}

fn text_of(record: Map) -> String {
    yaml::emit(&Value::from(record).redacted(), 0)
}
