//! The form of events in a journal: enough to write the record of a job without it. Records are kept
//! as YAML text, as they are written in the end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::change_records::{job_start_record, task_record, task_start_record};
use crate::job::{InstanceChange, JobEvent, JobStart, TaskRecord};
use crate::plan::JobGoal;
use crate::value::{Map, Value};
use crate::yaml;

/// One entry of a job's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
pub enum JournalEntry {
    /// The job begins.
    #[serde(rename = "began")]
    JobStarted(Box<JobStartEntry>),
    /// A task is about to act on the world.
    #[serde(rename = "started")]
    TaskStarted(TaskStartEntry),
    /// A task has ended.
    #[serde(rename = "ended")]
    TaskEnded(Box<TaskEndEntry>),
    /// The record of an instance as it is from here on.
    #[serde(rename = "instance")]
    InstanceChanged(InstanceEntry),
    /// Of these groups of steps, all are done.
    #[serde(rename = "settled")]
    GroupsSettled {
        /// The groups.
        groups: Vec<usize>,
        /// The tasks that had ended and whose records are others now. Versions that do not know
        /// them read the rest.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        amended: Vec<TaskEndEntry>,
    },
    /// A task has added a node template.
    #[serde(rename = "template")]
    TemplateAdded {
        /// Its name.
        name: String,
        /// What it says, as YAML.
        text: String,
    },
    /// The job has ended; its record is written next.
    #[serde(rename = "finished")]
    JobFinished {
        /// Its status.
        status: String,
    },
}

/// What a journal says of its job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStartEntry {
    /// The id of the job.
    pub id: String,
    /// When it began, in microseconds since 1970.
    pub start: i64,
    /// The record of the job as far as it is known, as YAML: `changeId` to `readyState`.
    pub record: String,
    /// What tells the processes of this run from all others.
    pub token: Option<String>,
    /// What the job was to reach, for going on with it.
    pub goal: Option<JobGoal>,
    /// What the job it goes on with has done: keys of targets and operations.
    pub done: Vec<(String, String)>,
    /// What is planned: operations by the keys of their targets.
    pub planned: BTreeMap<String, Vec<String>>,
}

/// A task that is about to act.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStartEntry {
    /// The number of the task within the job, in the order of starting, from 1.
    pub task: usize,
    /// The key of its target, among all topologies.
    pub target: String,
    /// `interface.operation`.
    pub operation: String,
    /// The key of the instance whose turn it is, among all topologies.
    pub turn: String,
    /// The way from the `status` section to that instance.
    pub route: Vec<String>,
    /// The record of the task if it never ends, as YAML, without `changeId`.
    pub record: String,
    /// The directory name of its target and the name of its operation, for its files.
    pub folder: (String, String),
}

/// A task that has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct TaskEndEntry {
    /// The number of the task within the job, in the order of starting, from 1.
    pub task: usize,
    /// The key of its target, among all topologies.
    pub target: String,
    /// `interface.operation`.
    pub operation: String,
    /// The directory name of its target and the name of its operation, for its files.
    pub folder: (String, String),
    /// Its record, as YAML.
    pub record: String,
    /// Whether it did what it is for.
    pub success: bool,
    /// Whether it changed its target.
    pub changed: bool,
    /// Whether it belongs to what is committed.
    pub committed: bool,
    /// Whether it was left out.
    pub skipped: bool,
    /// The group of steps that it belongs to; those of subtasks and single operations have none.
    pub group: Option<usize>,
    /// The workflow that the group is for.
    pub workflow: Option<String>,
    /// The key of the instance whose turn it is, among all topologies.
    pub turn: String,
    /// The way from the `status` section to that instance.
    pub route: Vec<String>,
    /// The number that the last id was made of.
    pub number: u32,
}

/// The record of an instance at some time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceEntry {
    /// The way from the `status` section to it, key by key.
    pub route: Vec<String>,
    /// Its record without what stands on it and within it, as YAML; none if there is nothing to
    /// record any more.
    pub record: Option<String>,
}

impl JournalEntry {
    /// The entry of an event; none if a journal does not keep it. `token` tells the processes of this
    /// run from all others.
    pub(super) fn of(event: &JobEvent, token: &str) -> Option<Self> {
        Some(match event {
            JobEvent::JobStarted(start) => {
                Self::JobStarted(Box::new(JobStartEntry::of(start, token)))
            }
            JobEvent::TaskStarted(record) => Self::TaskStarted(TaskStartEntry::of(record)),
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
            target: record.target.whole_key.clone(),
            operation: record.operation.to_string(),
            turn: record.turn.instance.clone(),
            route: record.turn.route.clone(),
            record: text_of(task_start_record(record)),
            folder: folder_of(record),
        }
    }
}

impl TaskEndEntry {
    fn of(record: &TaskRecord) -> Self {
        let turn = &record.turn;
        Self {
            task: record.task,
            target: record.target.whole_key.clone(),
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
            route: turn.route.clone(),
            number: record.end.as_ref().map_or(0, |end| end.number),
        }
    }
}

impl InstanceEntry {
    fn of(change: &InstanceChange) -> Self {
        Self {
            route: change.route.clone(),
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
