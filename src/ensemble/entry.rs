//! What a journal tells of a job: enough to write its record without it. Records are kept as YAML
//! text, as they are written in the end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    pub goal: Option<serde_json::Value>,
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
