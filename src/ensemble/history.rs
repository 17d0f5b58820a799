//! Implements `unfurl history`: lists the recorded jobs of an ensemble, or the tasks of one job.
//!
//! [`history`] is the entry point. It reads only `jobs.tsv` and the record files, so it works even if the
//! model is invalid.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::job_log::{JobLog, LoggedJob, LoggedTask, is_about};
pub use super::past_task::{PastEnd, PastTask};
use super::record_file::RecordFile;
use crate::name::ChangeId;
use crate::system::fs;
use crate::text::did_you_mean;
use crate::value::Value;
use crate::yaml::{Schema, parse_text};

/// The part of the history that the user selected.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// A job id, the beginning of one, or a task id; `None` selects all jobs.
    pub job: Option<String>,
    /// Selects only changes of this instance.
    pub instance: Option<String>,
    /// The maximum number of jobs, or of tasks of one job.
    pub limit: Option<usize>,
}

/// The result: a list of jobs, or one job with its tasks.
#[derive(Debug)]
pub enum History {
    /// A list of jobs, newest first.
    Jobs {
        jobs: Vec<JobEntry>,
        /// The number of matching jobs before the limit was applied.
        total: usize,
        /// Messages about files that could not be read.
        problems: Vec<String>,
    },
    /// A single job with its tasks.
    Job {
        job: Box<JobEntry>,
        /// The selected tasks, in the order of the record.
        tasks: Vec<TaskEntry>,
        /// The number of matching tasks before the limit was applied.
        total: usize,
        /// Whether the user selected a single task.
        single: bool,
        /// Messages about files that could not be read.
        problems: Vec<String>,
    },
}

/// A recorded job, from its record or from `jobs.tsv`.
#[derive(Debug, Clone)]
pub struct JobEntry {
    pub id: ChangeId,
    pub status: Option<String>,
    /// The start time in the format of records.
    pub start: Option<String>,
    /// The counts of tasks by outcome, as text.
    pub summary: Option<String>,
    /// The path of the record file, relative to the ensemble's folder.
    pub file: Option<String>,
    /// The full record; null if it cannot be read.
    pub record: Value,
}

/// A recorded task, from its record or from `jobs.tsv`.
#[derive(Debug, Clone)]
pub struct TaskEntry {
    /// The full record, or the fields from `jobs.tsv` if the record file is missing.
    pub record: Value,
    /// The attributes that the task set.
    pub changes: Vec<AttributeChange>,
}

/// An attribute that a task set.
#[derive(Debug, Clone)]
pub struct AttributeChange {
    pub instance_key: String,
    pub name: String,
    /// The value before the change, if an earlier task recorded it.
    pub old: Option<Value>,
    pub new: Value,
}

/// An error in a selection: no recorded job, task or instance matches it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text matches the ids of several jobs.
    #[error("several jobs have ids that begin with `{text}`")]
    Ambiguous {
        /// The beginning of an id that the user gave.
        text: String,
        /// Two of the matching jobs, for the message.
        such_as: [ChangeId; 2],
    },
    #[error("no job or task `{text}` is recorded")]
    NotFound {
        text: String,
        /// The id of a recorded job that is similar.
        similar: Option<String>,
    },
    /// No recorded job changed the instance.
    #[error("no recorded job has changed `{name}`")]
    UnknownInstance {
        name: String,
        /// A similar name of a known instance.
        hint: Option<String>,
    },
}

impl Error {
    /// Returns a hint on how to fix the selection.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Ambiguous {
                such_as: [first, second],
                ..
            } => Some(format!(
                "use a longer part of the id, for example `{first}` or `{second}`"
            )),
            Self::NotFound { similar, .. } => {
                let similar = similar.iter().map(|hint| format!("{hint} "));
                let others = "`unfurl history` lists the jobs; `--ensemble` names another ensemble";
                Some(similar.chain([others.to_owned()]).collect())
            }
            Self::UnknownInstance { hint, .. } => hint.clone(),
        }
    }
}

/// Reads the history of the ensemble with this manifest, whose records are in `folder`.
///
/// # Errors
///
/// The selection matches no record, or more than one job.
pub fn history(manifest: &Path, folder: &Path, selection: &Selection) -> Result<History, Error> {
    let log = read_log(manifest, folder);
    if let Some(name) = &selection.instance {
        refuse_unknown(&log, name)?;
    }
    match &selection.job {
        None => Ok(jobs(&log, selection)),
        Some(text) => {
            let (job, task) = resolve_selection(&log, text)?;
            let found = one_job(&log, job, task, selection);
            match found {
                History::Job { total: 0, .. } if task.is_some() => Err(not_found(&log, text)),
                found => Ok(found),
            }
        }
    }
}

/// Reads the log of an ensemble, as far as it is readable.
pub(super) fn read_log(manifest: &Path, folder: &Path) -> JobLog {
    let text = fs::read_to_string(manifest).ok();
    // Most manifests contain no records, so parsing is needed only if a line looks like a top-level `changes`
    // key.
    let keeps = |text: &String| {
        text.lines()
            .any(|line| line.starts_with(['c', '"', '\'', '{']))
    };
    let root = text
        .filter(keeps)
        .and_then(|text| parse_text(Schema::Core, &text).ok());
    let value = |key: &str| Some(root.as_ref()?.get(key)?.to_value());
    let last_job = value("lastJob").unwrap_or_default();
    match value("changes") {
        Some(changes) => JobLog::read(folder, Some((&changes, &last_job))),
        None => JobLog::read(folder, None),
    }
}

/// Returns the selected job, and the task if the selection is a task id.
fn resolve_selection(log: &JobLog, text: &str) -> Result<(ChangeId, Option<ChangeId>), Error> {
    if let Ok(id) = ChangeId::parse(text) {
        if log.job(id).is_some() {
            return Ok((id, None));
        }
        if let Some(job) = log.job_of_task(id) {
            return Ok((job, Some(id)));
        }
    }
    match log.starting_with(text).as_slice() {
        [one] if !text.is_empty() => Ok((*one, None)),
        [first, second, ..] if !text.is_empty() => Err(Error::Ambiguous {
            text: text.to_owned(),
            such_as: [*first, *second],
        }),
        _ => Err(not_found(log, text)),
    }
}

fn not_found(log: &JobLog, text: &str) -> Error {
    let ids: Vec<String> = log.jobs().map(|(id, _)| id.to_string()).collect();
    Error::NotFound {
        text: text.to_owned(),
        similar: did_you_mean(text, ids.iter().map(String::as_str)),
    }
}

fn refuse_unknown(log: &JobLog, name: &str) -> Result<(), Error> {
    if log.jobs().any(|(_, job)| log.is_about(job, name)) {
        return Ok(());
    }
    let mut known = BTreeSet::new();
    for (_, job) in log.jobs() {
        let tasks = log.tasks_of(job);
        known.extend(tasks.filter_map(|task| task.get("target").map(str::to_owned)));
    }
    let bare = |key: &'_ String| -> String { key.trim_start_matches(':').to_owned() };
    let known: Vec<String> = known.iter().map(bare).collect();
    Err(Error::UnknownInstance {
        name: name.to_owned(),
        hint: did_you_mean(name, known.iter().map(String::as_str)),
    })
}

fn jobs(log: &JobLog, selection: &Selection) -> History {
    let is_selected = |job: &LoggedJob| {
        let name = selection.instance.as_ref();
        name.is_none_or(|name| log.is_about(job, name))
    };
    let all: Vec<_> = log
        .jobs()
        .rev()
        .filter(|(_, job)| is_selected(job))
        .collect();
    let mut problems = log.problems().to_vec();
    let limit = selection.limit.unwrap_or(usize::MAX);
    let shown = all.iter().take(limit);
    let jobs = shown.map(|(id, job)| job_of(log, *id, job, &mut problems));
    let jobs = jobs.collect();
    History::Jobs {
        jobs,
        total: all.len(),
        problems,
    }
}

fn job_of(log: &JobLog, id: ChangeId, job: &LoggedJob, problems: &mut Vec<String>) -> JobEntry {
    let mut record = job.record.clone().unwrap_or_default();
    let files = [job.changelog.as_ref(), job.full.as_ref()];
    for path in files.into_iter().flatten() {
        match RecordFile::read_job(log.records().base(), path) {
            Ok(read) => record = read,
            Err(problem) => {
                problems.push(problem.to_string());
                continue;
            }
        }
        break;
    }
    let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    let ready = record
        .get("readyState")
        .and_then(|ready| ready.get("local"));
    let ready = ready.and_then(Value::as_str).map(str::to_owned);
    JobEntry {
        id,
        status: job.status.clone().or(ready),
        start: text("startTime").or_else(|| job.start.clone()),
        summary: job.summary.clone().or_else(|| text("summary")),
        file: job.changelog.clone().or_else(|| job.full.clone()),
        record,
    }
}

fn one_job(log: &JobLog, id: ChangeId, task: Option<ChangeId>, selection: &Selection) -> History {
    let mut problems = log.problems().to_vec();
    let empty = LoggedJob::default();
    let logged = log.job(id).unwrap_or(&empty);
    let job = job_of(log, id, logged, &mut problems);
    let mut records = records_of(log, logged, &mut problems);
    if let Some(task) = task {
        records.retain(|record| has_id(record, task));
    }
    if let Some(name) = &selection.instance {
        let target = |record: &Value| record.get("digestOf").or(record.get("target")).cloned();
        records.retain(|record| {
            target(record).is_some_and(|target| is_about(name, &target.to_string()))
        });
    }
    let total = records.len();
    records.truncate(selection.limit.unwrap_or(usize::MAX));
    problems.sort();
    problems.dedup();
    History::Job {
        job: Box::new(job),
        tasks: with_changes(log, records),
        total,
        single: task.is_some(),
        problems,
    }
}

fn has_id(record: &Value, id: ChangeId) -> bool {
    record.get("changeId").and_then(Value::as_str) == Some(id.as_str())
}

/// Reads the records of a job's tasks: from the file with all tasks, else from the committed file, else from
/// `jobs.tsv`.
pub(super) fn records_of(log: &JobLog, job: &LoggedJob, problems: &mut Vec<String>) -> Vec<Value> {
    let paths = [job.full.as_ref(), job.changelog.as_ref()];
    for path in paths.into_iter().flatten() {
        match log.records().file(path) {
            Ok(file) => {
                let mut records = Vec::with_capacity(file.len());
                for place in 0..file.len() {
                    match file.task(place) {
                        // Earlier versions of Unfurl put the job's own record among its tasks.
                        Ok(record) if record.get("target").is_none() => {}
                        Ok(record) => records.push(record),
                        Err(problem) => problems.push(format!("`{path}`: {problem}")),
                    }
                }
                return records;
            }
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    log.tasks_of(job)
        .map(|task| match log.records().record(task.id) {
            Ok(Some(record)) => record,
            _ => from_log(&task),
        })
        .collect()
}

/// Converts a line of `jobs.tsv` to the form of a task record.
fn from_log(task: &LoggedTask<'_>) -> Value {
    let text = |key: &str| Value::from(task.get(key).unwrap_or_default());
    Value::map([
        ("changeId", Value::from(task.id.as_str())),
        ("previousId", text("previousId")),
        ("target", text("target")),
        ("readyState", Value::map([("local", text("status"))])),
        (
            "implementation",
            Value::map([("operation", text("operation"))]),
        ),
        (
            "changed",
            Value::Bool(
                task.get("changed")
                    .is_some_and(|it| it.eq_ignore_ascii_case("true")),
            ),
        ),
        ("summary", text("summary")),
    ])
}

/// Adds to each task record the attributes that the task set, with their previous values.
fn with_changes(log: &JobLog, records: Vec<Value>) -> Vec<TaskEntry> {
    let keys: HashSet<String> = records
        .iter()
        .flat_map(|record| attributes_of(record).into_iter().map(|(key, ..)| key))
        .collect();
    let first = records.first().and_then(|record| record.get("changeId"));
    let first = first.and_then(|id| ChangeId::parse(id.as_str()?).ok());
    let mut setters = last_setters(log, first, &keys);
    let mut known: HashMap<String, Value> = HashMap::new();
    let mut tasks = Vec::with_capacity(records.len());
    for record in records {
        let mut changes = Vec::new();
        for (key, of, name, new) in attributes_of(&record) {
            let old = known.remove(&key);
            let old = old.or_else(|| value_set(log, setters.remove(&key)?, &key));
            known.insert(key, new.clone());
            changes.push(AttributeChange {
                instance_key: of,
                name,
                old,
                new,
            });
        }
        tasks.push(TaskEntry { record, changes });
    }
    tasks
}

/// Returns the attributes that a task changed: key, instance, name and new value.
fn attributes_of(record: &Value) -> Vec<(String, String, String, Value)> {
    let changes = record.get("changes").and_then(Value::as_map);
    let mut attributes = Vec::new();
    for (of, values) in changes.into_iter().flatten() {
        for (name, value) in values.as_map().into_iter().flatten() {
            let key = format!("{of}::{name}");
            attributes.push((key, of.to_string(), name.to_string(), value.redacted()));
        }
    }
    attributes
}

/// Finds, for each attribute key, the last task that set it before the task `before`.
fn last_setters(
    log: &JobLog,
    before: Option<ChangeId>,
    keys: &HashSet<String>,
) -> HashMap<String, ChangeId> {
    let mut setters = HashMap::new();
    let Some(before) = before.filter(|_| !keys.is_empty()) else {
        return setters;
    };
    for (_, job) in log.jobs().take_while(|(id, _)| *id < before) {
        for task in log.tasks_of(job).filter(|task| task.id < before) {
            for key in task.get("digestPut").unwrap_or_default().split(',') {
                if keys.contains(key) {
                    setters.insert(key.to_owned(), task.id);
                }
            }
        }
    }
    setters
}

/// Returns the value that a task gave to an attribute.
fn value_set(log: &JobLog, task: ChangeId, key: &str) -> Option<Value> {
    let record = log.records().record(task).ok()??;
    let set = attributes_of(&record).into_iter();
    if let Some((.., value)) = set.into_iter().find(|(own, ..)| own == key) {
        return Some(value);
    }
    let written = record.get("dependencies")?.as_list()?.iter();
    let mut written = written.filter(|it| it.get("ref").and_then(Value::as_str) == Some(key));
    Some(written.next()?.get("expected")?.redacted())
}
