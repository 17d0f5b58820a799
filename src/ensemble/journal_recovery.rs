//! A job that was cut off: what its journal tells, and the record that it left undone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::change_records::{JobStats, stamp};
use super::jobs_tsv::{CRASH_KEY, job_line};
use super::journal_entry::{JobStartEntry, JournalEntry, TaskEndEntry, TaskStartEntry};
use super::journal_file::{JournalFile, JournalFileError};
use super::manifest::Manifest;
use super::record::{Changelogs, Record, changelog_text, discovered_section, job_file_name};
use crate::name::{ChangeId, InterfaceName, Status};
use crate::plan::JobGoal;
use crate::value::{Map, Value};
use crate::yaml::{Schema, parse_text};

/// What a task that never ended says of itself.
const DOUBT_MESSAGE: &str = "its job was cut off: nobody knows whether it has done its work";
/// The operations that only look.
const READ_ONLY_OPERATIONS: [&str; 2] = ["Install.check", "Install.discover"];

/// What a journal tells of a job that was cut off.
#[derive(Debug, Clone, Default)]
pub struct CrashedJob {
    start: JobStartEntry,
    finished_tasks: Vec<TaskEndEntry>,
    /// Tasks that began and, as far as is known, did not end.
    unfinished_tasks: IndexMap<usize, TaskStartEntry>,
    /// The latest records of instances, by their places.
    instances: IndexMap<Vec<String>, Option<String>>,
    settled_groups: HashSet<usize>,
    templates: Vec<(String, String)>,
    final_status: Option<String>,
    /// Lines of the journal that are not what was written, counted from 1.
    pub damaged_lines: Vec<usize>,
}

/// Why a job that was cut off cannot be put on record.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalFileError),
    /// The journal does not say which job it is about, or holds what is no record.
    #[error("the journal cannot be understood: {0}")]
    Malformed(String),
}

impl CrashedJob {
    /// Reads a journal; none if it ends before it says anything.
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
            JournalEntry::TaskEnded(ended) => {
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

    /// Puts the records of tasks that have ended in the places of those before.
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

    /// The id of the job.
    pub fn id(&self) -> &str {
        &self.start.id
    }

    /// What the job was to reach.
    pub fn goal(&self) -> Option<&JobGoal> {
        self.start.goal.as_ref()
    }

    /// What was planned: operations by the keys of their targets.
    pub fn planned(&self) -> &BTreeMap<String, Vec<String>> {
        &self.start.planned
    }

    /// How many tasks ended.
    pub fn ended_count(&self) -> usize {
        self.finished_tasks.len()
    }

    /// The tasks that did what they are for: keys of targets and operations.
    pub fn completed(&self) -> Vec<(String, String)> {
        let done = self.finished_tasks.iter().filter(|task| task.success);
        let done = done.map(|task| (task.target.clone(), task.operation.clone()));
        done.chain(self.start.done.iter().cloned()).collect()
    }

    /// The tasks of which nobody knows whether they have done their work: keys of targets and
    /// operations. What only looks is none of them.
    pub fn in_doubt(&self) -> impl Iterator<Item = &TaskStartEntry> {
        let all = self.unfinished_tasks.values();
        all.filter(|task| !READ_ONLY_OPERATIONS.contains(&task.operation.as_str()))
    }

    /// The files of its tasks: the directory name of the target and the operation, and the id of
    /// the task if it failed. What a task in doubt has left counts as what is there.
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

    /// Whether the record in the ensemble is that of this job already, as far as it can be.
    pub fn is_on_record(&self, manifest: &Manifest) -> bool {
        self.final_status.is_some() && manifest.last_job().as_deref() == Some(self.id())
    }

    /// The record of the job as it would have been, had it ended where it was cut off.
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

    /// The ids that tasks in doubt get, with the tasks.
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

    /// The records of all tasks, those in doubt last.
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
                mark_crashed(&mut record, &task.turn);
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
            let messages = Value::list([Value::from(DOUBT_MESSAGE)]);
            insert_before_changed(&mut record, "messages", messages);
            mark_crashed(&mut record, &task.turn);
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

    /// The `status` section with the records of the instances that the job came to.
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

    /// The places of instances that were to be brought up or taken down, and were not to the end.
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

/// A task on its way into the record.
struct RecordedTask {
    record: Map,
    /// Whether it did what it is for; none if nobody knows.
    success: Option<bool>,
    changed: bool,
    committed: bool,
    skipped: bool,
}

/// Whether an operation, `interface.name`, makes or removes things.
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
        // Somebody else's later job stays the last.
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

/// Puts the record of an instance at its place; what stands on it and within it stays. A record
/// that somebody else has made since is left alone. `are_names` says whether the keys at hand are
/// names of instances, not keys of a record.
fn put_instance(status: &mut Map, route: &[String], record: Option<Map>, are_names: bool) {
    let Some((first, rest)) = route.split_first() else {
        return;
    };
    if !rest.is_empty() {
        // An instance of which no task was begun has no record in the journal: without operations it
        // is there all the same once something stands on it.
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

/// What worked does not any more, and what was gone is not; it is brought up or removed next.
fn mark_half_done(record: &mut Map) {
    let ready = record.get("readyState");
    let local = ready.and_then(|ready| ready.get("local"));
    match local.and_then(Value::as_str) {
        Some("ok" | "degraded") => set_ready(record, "error"),
        Some("absent") => set_ready(record, "pending"),
        _ => {}
    }
}

/// Notes in a task's record that its job was cut off, with the key of the instance whose turn it was.
fn mark_crashed(record: &mut Map, turn: &str) {
    insert_before_changed(record, CRASH_KEY, Value::from(turn));
}

/// Inserts an entry where the records of tasks have it: before `changed`, or else at the end.
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
