//! The form of events in a journal: enough to write the record of a job without it. Records are kept
//! as YAML text, as they are written in the end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::changes::{begun_record, intent_record, task_record};
use crate::job::{Event, InstanceChange, JobStart, TaskRecord};
use crate::plan::Goal;
use crate::value::{Map, Value};
use crate::yaml;

/// One entry of a job's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
pub enum Entry {
    /// The job begins.
    Began(Box<Began>),
    /// A task is about to act on the world.
    Started(Started),
    /// A task has ended.
    Ended(Box<Ended>),
    /// The record of an instance as it is from here on.
    Instance(InstanceState),
    /// Of these groups of steps, all are done.
    Settled {
        /// The groups.
        groups: Vec<usize>,
        /// The tasks that had ended and whose records are others now. Versions that do not know
        /// them read the rest.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        amended: Vec<Ended>,
    },
    /// A task has added a node template.
    Template {
        /// Its name.
        name: String,
        /// What it says, as YAML.
        text: String,
    },
    /// The job has ended; its record is written next.
    Finished {
        /// Its status.
        status: String,
    },
}

/// What a journal says of its job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// The id of the job.
    pub id: String,
    /// When it began, in microseconds since 1970.
    pub start: i64,
    /// The record of the job as far as it is known, as YAML: `changeId` to `readyState`.
    pub record: String,
    /// What tells the processes of this run from all others.
    pub token: Option<String>,
    /// What the job was to reach, for going on with it.
    pub goal: Option<Goal>,
    /// What the job it goes on with has done: keys of targets and operations.
    pub done: Vec<(String, String)>,
    /// What is planned: operations by the keys of their targets.
    pub planned: BTreeMap<String, Vec<String>>,
}

/// A task that is about to act.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
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
pub struct Ended {
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
pub struct InstanceState {
    /// The way from the `status` section to it, key by key.
    pub route: Vec<String>,
    /// Its record without what stands on it and within it, as YAML; none if there is nothing to
    /// record any more.
    pub record: Option<String>,
}

impl Entry {
    /// The entry of an event; none if a journal does not keep it. `token` tells the processes of this
    /// run from all others.
    pub(super) fn of(event: &Event, token: &str) -> Option<Self> {
        Some(match event {
            Event::JobStarted(start) => Self::Began(Box::new(Began::of(start, token))),
            Event::TaskStarted(record) => Self::Started(Started::of(record)),
            Event::TaskFinished(record) => Self::Ended(Box::new(Ended::of(record))),
            Event::TaskAmended(record) => Self::Settled {
                groups: Vec::new(),
                amended: vec![Ended::of(record)],
            },
            Event::TemplateAdded { name, template } => Self::Template {
                name: name.to_string(),
                text: yaml::emit(template, 0),
            },
            Event::GroupsSettled(groups) => Self::Settled {
                groups: groups.clone(),
                amended: Vec::new(),
            },
            Event::InstanceChanged(change) => Self::Instance(InstanceState::of(change)),
            Event::JobFinished { status, .. } => Self::Finished {
                status: (*status).to_owned(),
            },
            Event::Message { .. } | Event::Problem(_) => return None,
        })
    }
}

impl Began {
    fn of(start: &JobStart, token: &str) -> Self {
        let goal = &start.goal;
        let mut done: Vec<(String, String)> = goal.resumed.done.iter().cloned().collect();
        done.sort_unstable();
        Self {
            id: start.head.id.to_string(),
            start: start.head.start.as_microsecond(),
            record: text_of(begun_record(start)),
            token: Some(token.to_owned()),
            goal: Some(goal.clone()),
            done,
            planned: start.planned.clone(),
        }
    }
}

impl Started {
    fn of(record: &TaskRecord) -> Self {
        Self {
            task: record.task,
            target: record.target.whole_key.clone(),
            operation: record.operation.to_string(),
            turn: record.turn.instance.clone(),
            route: record.turn.route.clone(),
            record: text_of(intent_record(record)),
            folder: folder_of(record),
        }
    }
}

impl Ended {
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

impl InstanceState {
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
