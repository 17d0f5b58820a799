//! Builds the record of a crashed job from its journal.
//!
//! [`CrashedJob::read`] reads the journal; [`CrashedJob::record`] returns the record that the job would have
//! saved. The decision whether the next job repeats, checks or refuses unfinished operations is made
//! elsewhere, in `ops::recover` and the planner.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::change_records::JobStats;
use super::jobs_tsv::{CRASH_KEY, job_line};
use super::journal_entry::{JobStartEntry, JournalEntry, TaskEndEntry, TaskStartEntry};
use super::journal_file::{JournalFile, JournalFileError};
use super::manifest::Manifest;
use super::record::{Changelogs, Record, changelog_text, discovered_section, job_file_name};
use super::record_time::stamp;
use crate::name::{ChangeId, InterfaceName, Status};
use crate::plan::JobGoal;
use crate::value::{Map, Value};
use crate::yaml::{Schema, parse_text};

/// The message in the record of a task that started and never ended.
const DOUBT_MESSAGE: &str =
    "its job crashed while this task ran, so it is unknown whether the task completed";
/// The operations that change nothing. They are never in doubt.
const READ_ONLY_OPERATIONS: [&str; 2] = ["Install.check", "Install.discover"];

/// The state of a crashed job according to its journal.
#[derive(Debug, Clone, Default)]
pub struct CrashedJob {
    start: JobStartEntry,
    finished_tasks: Vec<TaskEndEntry>,
    /// The tasks that started and have no recorded end, by their number.
    unfinished_tasks: IndexMap<usize, TaskStartEntry>,
    /// The messages that unfinished tasks have reported, by the number of the task.
    progress: HashMap<usize, Vec<String>>,
    /// The latest records of instances, by their path in the `status` section.
    instances: IndexMap<Vec<String>, Option<String>>,
    settled_groups: HashSet<usize>,
    templates: Vec<(String, String)>,
    final_status: Option<String>,
    /// The numbers of damaged journal lines, from 1.
    pub damaged_lines: Vec<usize>,
}

/// An error that prevents the record of a crashed job from being built.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Journal(#[from] JournalFileError),
    /// The journal does not name its job, or contains text that is not a record.
    #[error("the journal is not valid: {0}")]
    Malformed(String),
}

impl CrashedJob {
    /// Reads a journal; returns `None` if no task had started when the job ended.
    pub fn read(path: &Path) -> Result<Option<Self>, RecoveryError> {
        let recovered = JournalFile::read::<Vec<JournalEntry>>(path)?;
        let mut job = Self {
            damaged_lines: recovered.damaged,
            ..Self::default()
        };
        for entry in recovered.entries.into_iter().flatten() {
            job.apply(entry);
        }
        let has_no_tasks = job.finished_tasks.is_empty() && job.unfinished_tasks.is_empty();
        if has_no_tasks && job.damaged_lines.is_empty() {
            return Ok(None);
        }
        if job.start.id.is_empty() {
            let message = "its first line, which names the job, is damaged".to_owned();
            return Err(RecoveryError::Malformed(message));
        }
        Ok(Some(job))
    }

    fn apply(&mut self, entry: JournalEntry) {
        match entry {
            JournalEntry::JobStarted(began) => self.start = *began,
            JournalEntry::TaskStarted(started) => {
                drop(self.unfinished_tasks.insert(started.task, started));
            }
            JournalEntry::TaskProgress { task, message } => {
                self.progress.entry(task).or_default().push(message);
            }
            JournalEntry::TaskEnded(ended) => {
                self.progress.remove(&ended.task);
                self.unfinished_tasks.shift_remove(&ended.task);
                self.finished_tasks.push(*ended);
            }
            JournalEntry::GroupsSettled { groups, amended } => {
                self.settled_groups.extend(groups);
                self.amend(amended);
            }
            JournalEntry::InstanceChanged(state) => {
                drop(self.instances.insert(state.route, state.record));
            }
            JournalEntry::TemplateAdded { name, text } => self.templates.push((name, text)),
            JournalEntry::JobFinished { status } => self.final_status = Some(status),
        }
    }

    /// Replaces the records of ended tasks with their amended versions.
    fn amend(&mut self, tasks: Vec<TaskEndEntry>) {
        if tasks.is_empty() {
            return;
        }
        let ended = self.finished_tasks.iter().enumerate();
        let places: HashMap<usize, usize> = ended.map(|(place, it)| (it.task, place)).collect();
        for task in tasks {
            if let Some(place) = places.get(&task.task) {
                self.finished_tasks[*place] = task;
            }
        }
    }

    pub fn id(&self) -> &str {
        &self.start.id
    }

    /// Returns the goal of the job, with which it can be resumed.
    pub fn goal(&self) -> Option<&JobGoal> {
        self.start.goal.as_ref()
    }

    /// Returns the planned operations, by the keys of their targets.
    pub fn planned(&self) -> &BTreeMap<String, Vec<String>> {
        &self.start.planned
    }

    /// Returns the number of tasks that ended.
    pub fn ended_count(&self) -> usize {
        self.finished_tasks.len()
    }

    /// Returns the tasks that succeeded, in this job and in the jobs it resumed: keys of targets and
    /// operation names.
    pub fn completed(&self) -> Vec<(String, String)> {
        let done = self.finished_tasks.iter().filter(|task| task.success);
        let done = done.map(|task| (task.target.clone(), task.operation.clone()));
        done.chain(self.start.done.iter().cloned()).collect()
    }

    /// Returns the tasks whose result is unknown because the job crashed while they ran. Read-only operations
    /// are never in doubt.
    pub fn in_doubt(&self) -> impl Iterator<Item = &TaskStartEntry> {
        let all = self.unfinished_tasks.values();
        all.filter(|task| !READ_ONLY_OPERATIONS.contains(&task.operation.as_str()))
    }

    /// Returns the messages that tasks without an end have reported, with the number and the folder of each task.
    pub fn reports(&self) -> impl Iterator<Item = (usize, &str, &[String])> {
        self.unfinished_tasks.values().filter_map(|task| {
            let messages = self.progress.get(&task.task)?;
            Some((task.task, task.folder.0.as_str(), messages.as_slice()))
        })
    }

    /// Adds messages to the record of a task without an end.
    pub fn add_reports(&mut self, task: usize, messages: Vec<String>) {
        self.progress.entry(task).or_default().extend(messages);
    }

    /// Returns the working folders of the tasks, each with the id of the task if it failed.
    ///
    /// A task in doubt is listed as if it had succeeded: the files that it wrote count as the current ones.
    pub fn folders(&self) -> Vec<((String, String), Option<String>)> {
        let ended = self.finished_tasks.iter().filter(|task| !task.skipped);
        let id =
            |task: &TaskEndEntry| Some(map_of(&task.record).ok()?.get("changeId")?.to_string());
        let ended = ended.map(|task| {
            let failed = (!task.success).then(|| id(task)).flatten();
            (task.folder.clone(), failed)
        });
        let doubts = self.in_doubt().map(|task| (task.folder.clone(), None));
        ended.chain(doubts).collect()
    }

    /// Whether the manifest already contains the complete record of this job.
    pub fn is_on_record(&self, manifest: &Manifest) -> bool {
        self.final_status.is_some() && manifest.last_job().as_deref() == Some(self.id())
    }

    /// Returns the record of the job as if it had ended at the moment of the crash; `None` if no task needs
    /// to be recorded.
    pub fn record(
        &self,
        manifest: &Manifest,
        now: jiff::Timestamp,
    ) -> Result<Option<Record>, RecoveryError> {
        let job = ChangeId::parse(self.id()).map_err(|error| malformed(&error))?;
        let start =
            jiff::Timestamp::from_microsecond(self.start.start).map_err(|e| malformed(&e))?;
        let doubts = self.assign_doubt_ids(start)?;
        let tasks = self.tasks(&doubts)?;
        if tasks.is_empty() {
            return Ok(None);
        }
        let mut record = Record::of_status(job, self.status(manifest, &doubts)?);
        let head = self.job_record(&tasks, now)?;
        if manifest.keeps_changes_inline() {
            let records = tasks.into_iter().map(|task| task.record).collect();
            record.add_inline_records(manifest, head, records);
        } else {
            add_record_files(&mut record, manifest, head, tasks, start);
        }
        let mut templates = Map::new();
        for (name, text) in &self.templates {
            templates.insert(name.as_str().into(), value_of(text)?);
        }
        record
            .sections
            .extend(discovered_section(manifest, templates));
        Ok(Some(record))
    }

    /// Assigns change ids to the tasks in doubt, which follow those of the ended tasks.
    fn assign_doubt_ids(
        &self,
        start: jiff::Timestamp,
    ) -> Result<Vec<(ChangeId, &TaskStartEntry)>, RecoveryError> {
        let last = self.finished_tasks.iter().map(|task| task.number).max();
        let numbers = last.unwrap_or(0) + 1..;
        let ids = numbers.zip(self.in_doubt()).map(|(number, task)| {
            let id = ChangeId::task(start, number).map_err(|error| malformed(&error))?;
            Ok((id, task))
        });
        ids.collect()
    }

    /// Returns the records of all tasks, tasks in doubt last.
    fn tasks(
        &self,
        doubts: &[(ChangeId, &TaskStartEntry)],
    ) -> Result<Vec<RecordedTask>, RecoveryError> {
        let mut tasks = Vec::new();
        for task in &self.finished_tasks {
            let mut record = map_of(&task.record)?;
            let open = task
                .group
                .is_some_and(|group| !self.settled_groups.contains(&group));
            if open && task.success {
                mark_as_crashed(&mut record, &task.turn);
            }
            tasks.push(RecordedTask {
                record,
                success: Some(task.success),
                changed: task.changed,
                committed: task.committed,
                skipped: task.skipped,
            });
        }
        for (id, task) in doubts {
            let mut record = Map::new();
            record.insert("changeId".into(), Value::from(id.as_str()));
            record.extend(map_of(&task.record)?);
            let reported = self.progress.get(&task.task).into_iter().flatten();
            let messages = std::iter::once(DOUBT_MESSAGE).chain(reported.map(String::as_str));
            let messages = Value::list(messages.map(Value::from));
            insert_before_changed(&mut record, "messages", messages);
            mark_as_crashed(&mut record, &task.turn);
            tasks.push(RecordedTask {
                record,
                success: None,
                changed: true,
                committed: true,
                skipped: false,
            });
        }
        Ok(tasks)
    }

    fn job_record(
        &self,
        tasks: &[RecordedTask],
        now: jiff::Timestamp,
    ) -> Result<Map, RecoveryError> {
        let mut stats = JobStats {
            total: tasks.len(),
            ..JobStats::default()
        };
        for task in tasks {
            stats.changed += usize::from(task.changed);
            match task.success {
                Some(true) => stats.ok += 1,
                Some(false) => stats.error += 1,
                None => stats.unknown += 1,
            }
        }
        let changed = i64::try_from(stats.changed).unwrap_or(i64::MAX);
        let status = self
            .final_status
            .as_deref()
            .unwrap_or(Status::Error.as_str());
        let ready = Value::map([("local", Value::from(status))]);
        let mut record = map_of(&self.start.record)?;
        for (key, value) in [
            ("endTime", Value::from(stamp(now))),
            ("changed", Value::Int(changed)),
            ("summary", Value::from(stats.line())),
            ("readyState", ready),
        ] {
            record.insert(key.into(), value);
        }
        Ok(record)
    }

    /// Returns the `status` section updated with the records of the instances that the job changed.
    fn status(
        &self,
        manifest: &Manifest,
        doubts: &[(ChangeId, &TaskStartEntry)],
    ) -> Result<Value, RecoveryError> {
        let recorded = manifest.status();
        let mut status = recorded.as_map().cloned().unwrap_or_default();
        let half = self.half_done();
        let doubtful: HashMap<&Vec<String>, ChangeId> = doubts
            .iter()
            .filter(|(_, task)| is_of_life_cycle(&task.operation))
            .map(|(id, task)| (&task.route, *id))
            .collect();
        let unrecorded = doubtful
            .keys()
            .filter(|it| !self.instances.contains_key(**it));
        let unrecorded: Vec<_> = unrecorded.map(|route| (*route, &None)).collect();
        for (route, text) in self.instances.iter().chain(unrecorded) {
            let mut record = match text {
                Some(text) => Some(map_of(text)?),
                None => None,
            };
            if let Some(id) = doubtful.get(route) {
                let record = record.get_or_insert_default();
                set_ready(record, "unknown");
                record.insert("lastConfigChange".into(), Value::from(id.as_str()));
            } else if half.contains(route)
                && let Some(record) = &mut record
            {
                mark_half_done(record);
            }
            put_instance(&mut status, route, record, false);
        }
        Ok(Value::from(status))
    }

    /// Returns the paths of instances whose deployment or removal was interrupted halfway.
    fn half_done(&self) -> HashSet<&Vec<String>> {
        let workflow = |task: &TaskEndEntry| {
            let name = task.workflow.as_deref();
            name.is_some_and(|name| matches!(name, "deploy" | "undeploy" | "stop"))
        };
        let open = self.finished_tasks.iter().filter(|task| {
            let group = task
                .group
                .filter(|group| !self.settled_groups.contains(group));
            group.is_some() && task.success && workflow(task) && is_of_life_cycle(&task.operation)
        });
        open.map(|task| &task.route).collect()
    }
}

/// A task record with the flags that decide which files it goes to.
struct RecordedTask {
    record: Map,
    /// Whether the task succeeded; `None` if that is not known.
    success: Option<bool>,
    changed: bool,
    committed: bool,
    skipped: bool,
}

/// Whether an operation (`interface.name`) belongs to the life cycle interface that creates and deletes
/// resources.
fn is_of_life_cycle(operation: &str) -> bool {
    let interface = operation.split_once('.').map(|(interface, _)| interface);
    interface.is_some_and(|interface| InterfaceName::from(interface).is_lifecycle())
}

fn add_record_files(
    to: &mut Record,
    manifest: &Manifest,
    mut head: Map,
    tasks: Vec<RecordedTask>,
    start: jiff::Timestamp,
) {
    let name = job_file_name(start, to.job.as_str());
    let mut logs = Changelogs::default();
    for task in tasks {
        logs.add(task.record, task.skipped, task.committed);
    }
    let full = format!("jobs/{name}.yaml");
    let changed = !logs.committed.is_empty();
    let changelog = if changed {
        format!("changes/{name}.yaml")
    } else {
        full.clone()
    };
    head.insert("changelog".into(), Value::from(changelog.as_str()));
    let text = |changes: &str| changelog_text(manifest, &head, Map::new(), changes);
    to.files.push((full, text(&logs.all)));
    if changed {
        to.files.push((changelog, text(&logs.committed)));
        let status = head.get("readyState").and_then(|ready| ready.get("local"));
        let status = status.and_then(Value::as_str).unwrap_or("error");
        to.lines = job_line(&head, status);
        to.lines.push_str(&logs.lines);
        // If another, later job has been recorded since, it remains the last job.
        if manifest
            .last_job()
            .is_none_or(|last| last.as_str() <= to.job.as_str())
        {
            to.sections.push(("lastJob".into(), Value::from(head)));
        }
    }
    to.sections
        .push(("jobsLog".into(), Value::from("jobs.tsv")));
}

/// Puts the record of an instance at its path in the `status` section. Hosted and nested instances there are
/// preserved, and so is a newer record.
///
/// `are_names` says whether the keys of `status` are instance names, not keys of a record.
fn put_instance(status: &mut Map, route: &[String], record: Option<Map>, are_names: bool) {
    let Some((first, rest)) = route.split_first() else {
        return;
    };
    if !rest.is_empty() {
        // A parent without started tasks has no record in the journal. A parent without operations must still
        // be recorded once an instance is hosted on it.
        let is_instance = are_names && rest[0] == "instances";
        let inner = status.entry(first.as_str().into()).or_insert_with(|| {
            let mut record = Map::new();
            if is_instance {
                set_ready(&mut record, "pending");
            }
            Value::from(record)
        });
        if !matches!(inner, Value::Map(_)) {
            *inner = Value::from(Map::new());
        }
        if let Value::Map(inner) = inner {
            let are_names = !are_names && first == "instances";
            put_instance(Arc::make_mut(inner), rest, record, are_names);
        }
        return;
    }
    let old = status.get(first.as_str()).and_then(Value::as_map);
    let old = old.cloned().unwrap_or_default();
    let change = |record: &Map| {
        let ids = ["lastConfigChange", "lastStateChange"].map(|key| record.get(key).cloned());
        ids.into_iter().flatten().map(|id| id.to_string()).max()
    };
    let inside = ["substitution", "instances"];
    match record {
        Some(record) if change(&record) < change(&old) => {}
        Some(mut record) => {
            for key in inside {
                if let Some(value) = old.get(key) {
                    record.insert(key.into(), value.clone());
                }
            }
            status.insert(first.as_str().into(), Value::from(record));
        }
        None if inside.iter().any(|key| old.contains_key(*key)) => {}
        None => drop(status.shift_remove(first.as_str())),
    }
}

fn set_ready(record: &mut Map, status: &str) {
    let ready = record.get("readyState").and_then(Value::as_map);
    let mut ready = ready.cloned().unwrap_or_default();
    ready.shift_remove("effective");
    ready.insert("local".into(), Value::from(status));
    record.insert("readyState".into(), Value::from(ready));
}

/// Changes the status so that the next job continues: an `ok` instance becomes `error`, an `absent` one
/// becomes `pending`.
fn mark_half_done(record: &mut Map) {
    let ready = record.get("readyState");
    let local = ready.and_then(|ready| ready.get("local"));
    match local.and_then(Value::as_str) {
        Some("ok" | "degraded") => set_ready(record, "error"),
        Some("absent") => set_ready(record, "pending"),
        _ => {}
    }
}

/// Marks a task's record as part of a crashed job, with the key of the instance that the job was working on.
fn mark_as_crashed(record: &mut Map, turn: &str) {
    insert_before_changed(record, CRASH_KEY, Value::from(turn));
}

/// Inserts an entry at its usual position in a task record: before `changed`, or at the end.
fn insert_before_changed(record: &mut Map, key: &str, value: Value) {
    let place = record.get_index_of("changed").unwrap_or(record.len());
    record.shift_insert(place, Arc::from(key), value);
}

fn malformed(error: &dyn std::fmt::Display) -> RecoveryError {
    RecoveryError::Malformed(error.to_string())
}

fn map_of(text: &str) -> Result<Map, RecoveryError> {
    let value = value_of(text)?;
    let map = value.as_map().cloned();
    map.ok_or_else(|| RecoveryError::Malformed("a record is not a map".to_owned()))
}

fn value_of(text: &str) -> Result<Value, RecoveryError> {
    let node = parse_text(Schema::Core, text).map_err(RecoveryError::Malformed)?;
    Ok(node.to_value())
}
