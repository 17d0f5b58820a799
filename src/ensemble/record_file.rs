//! Reads record files, such as `changes/job….yaml`.
//!
//! [`RecordFile`] splits the text into the records of tasks and parses a record only when it is requested,
//! because files can be large.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Component, Path};
use std::sync::{Arc, OnceLock};

use crate::job::RecordedReads;
use crate::name::ChangeId;
use crate::system::fs::{self, Beneath};
use crate::value::{Map, Value};
use crate::yaml::{Schema, parse_text};

/// The start of a task's record in files that this program writes.
const TASK_ITEM_START: &str = "- changeId: ";
/// The key of the list of task records.
const TASK_LIST_KEY: &str = "changes:";
/// The number of bytes read to find the job's record.
const MAX_HEAD_BYTES: u64 = 64 << 10;

/// The maximum size of a record file. Its records are parsed one by one, each within the limit for text.
const MAX_BYTES: u64 = 1 << 30;

/// An error while reading a record file or one of its records.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RecordReadError {
    /// The path is outside the ensemble's folder.
    #[error("`{0}` is not in the ensemble")]
    Outside(String),
    #[error(transparent)]
    Unreadable(Arc<fs::Error>),
    /// The file is not UTF-8 text.
    #[error("`{0}` is not UTF-8 text")]
    NotText(String),
    /// The file has no valid records.
    #[error("`{path}`: {reason}")]
    Malformed { path: String, reason: Box<Self> },
    /// The root of the text is not a map.
    #[error("it contains no records")]
    NoRecords,
    #[error("{0}")]
    Yaml(String),
    /// The file lacks the record of a task that should be in it.
    #[error("`{path}` has no record of the task {task}")]
    NoTask { path: String, task: ChangeId },
}

impl From<fs::Error> for RecordReadError {
    fn from(error: fs::Error) -> Self {
        Self::Unreadable(Arc::new(error))
    }
}

/// A record file with the records of a job and its tasks.
#[derive(Debug, Clone)]
pub struct RecordFile {
    text: String,
    records: TaskRecords,
    /// The index of each record by its id. Of records with equal ids the first counts.
    positions: HashMap<ChangeId, usize>,
    /// The parsed records of the whole file, created on demand when one record contains YAML aliases to
    /// another.
    whole: OnceLock<Result<Vec<Value>, RecordReadError>>,
}

/// The records of tasks, parsed or not.
#[derive(Debug, Clone)]
enum TaskRecords {
    /// The byte ranges of the records in the text.
    Unparsed {
        /// The text before the first record, which contains the job's record.
        head: Range<usize>,
        tasks: Vec<Range<usize>>,
    },
    /// Parsed records, for files with aliases between records or in another layout.
    Parsed { job: Value, tasks: Vec<Value> },
}

impl RecordFile {
    /// Reads a file. Its path is relative to the ensemble's folder and must stay inside it.
    pub fn read(base: &Path, path: &str) -> Result<Self, RecordReadError> {
        let bytes = Beneath::open(base)?.read(path_in_ensemble(path)?, MAX_BYTES)?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| RecordReadError::NotText(path.to_owned()))?;
        Self::parse(text).map_err(|reason| RecordReadError::Malformed {
            path: path.to_owned(),
            reason: Box::new(reason),
        })
    }

    /// Reads only the job's record of a file; usually this needs only the start of the file.
    pub fn read_job(base: &Path, path: &str) -> Result<Value, RecordReadError> {
        let start = Beneath::open(base)?.read_start(path_in_ensemble(path)?, MAX_HEAD_BYTES)?;
        let start = String::from_utf8_lossy(&start);
        let head = start.find("\nchanges:").map(|end| &start[..=end]);
        let head = head.and_then(|head| parse(head).ok());
        match head.as_ref().and_then(|head| head.get("job")) {
            Some(job) => Ok(job.clone()),
            None => Self::read(base, path)?.job(),
        }
    }

    /// Parses the text of a record file.
    pub fn parse(text: String) -> Result<Self, RecordReadError> {
        let (records, ids) = match split_tasks(&text) {
            Some((head, tasks)) => {
                let ids = tasks.iter().map(|range| id_at(&text, range));
                let ids: Vec<_> = ids.collect();
                (TaskRecords::Unparsed { head, tasks }, ids)
            }
            None => read_whole(&text)?,
        };
        let mut places = HashMap::with_capacity(ids.len());
        for (place, id) in ids.into_iter().enumerate() {
            if let Some(id) = id {
                places.entry(id).or_insert(place);
            }
        }
        Ok(Self {
            text,
            records,
            positions: places,
            whole: OnceLock::new(),
        })
    }

    /// Returns the number of task records.
    pub fn len(&self) -> usize {
        match &self.records {
            TaskRecords::Unparsed { tasks, .. } => tasks.len(),
            TaskRecords::Parsed { tasks, .. } => tasks.len(),
        }
    }

    /// Returns the number of bytes of the file.
    pub(super) fn size(&self) -> usize {
        self.text.len()
    }

    /// Returns the text of a task's record, if it is a part of the file that can be read alone.
    pub(super) fn text_of_task(&self, place: usize) -> Option<&str> {
        match &self.records {
            TaskRecords::Unparsed { tasks, .. } => Some(&self.text[tasks.get(place)?.clone()]),
            TaskRecords::Parsed { .. } => None,
        }
    }

    /// Returns the job's record.
    ///
    /// # Errors
    ///
    /// The record cannot be parsed.
    pub fn job(&self) -> Result<Value, RecordReadError> {
        match &self.records {
            TaskRecords::Parsed { job, .. } if !job.is_null() => Ok(job.clone()),
            TaskRecords::Unparsed { head, .. } if !head.is_empty() => {
                let head = parse(&self.text[head.clone()])?;
                match head.get("job") {
                    Some(job) => Ok(job.clone()),
                    None => self.job_in_first_item(),
                }
            }
            _ => self.job_in_first_item(),
        }
    }

    /// Returns the first list item if it is a job's record. Earlier versions of Unfurl put it before the task
    /// records.
    fn job_in_first_item(&self) -> Result<Value, RecordReadError> {
        let first = self.task(0)?;
        let is_job = first.get("target").is_none();
        Ok(if is_job { first } else { Value::Null })
    }

    /// Returns a task's record by its index in the file; null if there is no such record.
    ///
    /// # Errors
    ///
    /// The record cannot be parsed.
    pub fn task(&self, place: usize) -> Result<Value, RecordReadError> {
        match &self.records {
            TaskRecords::Parsed { tasks, .. } => Ok(tasks.get(place).cloned().unwrap_or_default()),
            TaskRecords::Unparsed { tasks, .. } => {
                let Some(range) = tasks.get(place) else {
                    return Ok(Value::Null);
                };
                if let Ok(Value::List(items)) = parse(&self.text[range.clone()])
                    && let [record] = items.as_slice()
                {
                    return Ok(record.clone());
                }
                // The record uses an alias to another part of the file, so the whole file must be parsed.
                let whole = self.whole.get_or_init(|| match read_whole(&self.text)?.0 {
                    TaskRecords::Parsed { tasks, .. } => Ok(tasks),
                    TaskRecords::Unparsed { .. } => Ok(Vec::new()),
                });
                let tasks = whole.as_ref().map_err(Clone::clone)?;
                Ok(tasks.get(place).cloned().unwrap_or_default())
            }
        }
    }

    /// Returns the index of the record with this id.
    pub fn position(&self, id: ChangeId) -> Option<usize> {
        self.positions.get(&id).copied()
    }
}

/// Joins a path to the ensemble's folder; refuses paths that leave the folder.
fn path_in_ensemble(path: &str) -> Result<&Path, RecordReadError> {
    let mut parts = Path::new(path).components();
    if parts.all(|part| matches!(part, Component::Normal(_))) {
        Ok(Path::new(path))
    } else {
        Err(RecordReadError::Outside(path.to_owned()))
    }
}

/// Returns the inputs and values that a task read, according to its record.
pub(super) fn recorded_reads(record: &Value) -> RecordedReads {
    let inputs = record.get("inputs").and_then(Value::as_map);
    let reads = record.get("dependencies").and_then(Value::as_list);
    let reads = reads.into_iter().flatten().filter_map(|dependency| {
        let is_written = dependency.get("writeOnly").is_some_and(Value::is_truthy);
        let key = dependency.get("ref")?.as_str().filter(|_| !is_written)?;
        let value = dependency.get("expected").cloned().unwrap_or_default();
        Some((key.into(), value))
    });
    RecordedReads {
        inputs: inputs.cloned().unwrap_or_default(),
        reads: reads.collect::<Map>(),
    }
}

/// Splits a text into the part before the records and the byte ranges of the records.
///
/// Returns `None` if the layout is not the one that this program writes.
fn split_tasks(text: &str) -> Option<(Range<usize>, Vec<Range<usize>>)> {
    let list = match text.strip_prefix(TASK_LIST_KEY) {
        Some(_) => 0,
        None => text.find("\nchanges:")? + 1,
    };
    let first = list + text[list..].find('\n')? + 1;
    if !text[list + TASK_LIST_KEY.len()..first].trim().is_empty() {
        return None;
    }
    let mut starts = Vec::new();
    let mut at = first;
    for line in text[first..].split_inclusive('\n') {
        if line.starts_with(TASK_ITEM_START) {
            starts.push(at);
        } else if !line.trim().is_empty() && (starts.is_empty() || !line.starts_with([' ', '#'])) {
            return None;
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let tasks = starts.iter().copied().zip(ends);
    Some((0..list, tasks.map(|(start, end)| start..end).collect()))
}

fn id_at(text: &str, range: &Range<usize>) -> Option<ChangeId> {
    let line = text[range.clone()].lines().next()?;
    ChangeId::parse(line.strip_prefix(TASK_ITEM_START)?.trim()).ok()
}

/// The parsed records of a file, with the id of each task record that has one.
type Whole = (TaskRecords, Vec<Option<ChangeId>>);

fn read_whole(text: &str) -> Result<Whole, RecordReadError> {
    let root = parse(text)?;
    if root.as_map().is_none() {
        return Err(RecordReadError::NoRecords);
    }
    let tasks = root.get("changes").and_then(Value::as_list);
    let tasks = tasks.cloned().unwrap_or_default();
    let ids = tasks.iter().map(id_of).collect();
    let job = root.get("job").cloned().unwrap_or_default();
    Ok((TaskRecords::Parsed { job, tasks }, ids))
}

/// Returns the change id of a record.
pub(super) fn id_of(record: &Value) -> Option<ChangeId> {
    let id = record.get("changeId")?.as_str()?;
    ChangeId::parse(id).ok()
}

fn parse(text: &str) -> Result<Value, RecordReadError> {
    let root = parse_text(Schema::Core, text).map_err(RecordReadError::Yaml)?;
    Ok(root.to_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "manifest: ../ensemble.yaml\n\
        job:\n  changeId: A6BL7ntS0000\n  workflow: deploy\n\
        changes:\n\
        - changeId: A6BL7ntS0001\n  inputs:\n    a: |\n      - changeId: none\n\
        - changeId: A6BL7ntS0002\n  dependencies:\n  - ref: ::db::port\n    expected: 80\n\
        \x20 - ref: ::db::url\n    expected: x\n    writeOnly: true\n";

    fn id(text: &str) -> ChangeId {
        ChangeId::parse(text).unwrap()
    }

    #[test]
    fn a_record_is_found_by_its_id_without_reading_the_others() {
        let broken = TEXT.replace("    a: |", "    a: {");
        for text in [TEXT, &broken] {
            let file = RecordFile::parse(text.to_owned()).unwrap();
            assert!(matches!(file.records, TaskRecords::Unparsed { .. }));
            assert_eq!(file.len(), 2);
            let job = file.job().unwrap();
            assert_eq!(job.get("workflow").unwrap().as_str(), Some("deploy"));
            let place = file.position(id("A6BL7ntS0002")).unwrap();
            let record = file.task(place).unwrap();
            let read = recorded_reads(&record);
            assert_eq!(
                read.reads,
                Map::from_iter([("::db::port".into(), 80.into())])
            );
            assert_eq!(file.position(id("A6BL7ntS0003")), None);
        }
        assert!(RecordFile::parse(broken).unwrap().task(0).is_err());
    }

    #[test]
    fn records_that_refer_to_each_other_are_read_as_a_whole() {
        let text = "changes:\n- changeId: A6BL7ntS0001\n  inputs: &i {a: 1}\n\
                    - changeId: A6BL7ntS0002\n  inputs: *i\n";
        let file = RecordFile::parse(text.to_owned()).unwrap();
        let record = file.task(file.position(id("A6BL7ntS0002")).unwrap());
        assert_eq!(recorded_reads(&record.unwrap()).inputs.len(), 1);
    }

    #[test]
    fn the_record_of_a_job_may_stand_before_those_of_its_tasks() {
        let text = "manifest: x\nchanges:\n- changeId: A6BL7ntS0000\n  workflow: stop\n\
                    - changeId: A6BL7ntS0001\n  target: ::a\n";
        let file = RecordFile::parse(text.to_owned()).unwrap();
        let job = file.job().unwrap();
        assert_eq!(job.get("workflow").unwrap().as_str(), Some("stop"));
    }

    #[test]
    fn other_layouts_are_understood() {
        let text =
            "{job: {changeId: A6BL7ntS0000}, changes: [{changeId: A6BL7ntS0001, target: x}]}";
        let file = RecordFile::parse(text.to_owned()).unwrap();
        assert_eq!(file.position(id("A6BL7ntS0001")), Some(0));
        let file = RecordFile::parse("changes:\n  - changeId: A6BL7ntS0001\n".to_owned());
        assert_eq!(file.unwrap().len(), 1);
    }

    #[test]
    fn an_invalid_or_missing_record_file_is_an_error() {
        assert!(RecordFile::parse("- 1\n".to_owned()).is_err());
        assert!(RecordFile::parse("a: [".to_owned()).is_err());
        let folder = tempfile::tempdir().unwrap();
        for path in ["../x", "/etc/passwd", "changes/none.yaml"] {
            assert!(RecordFile::read(folder.path(), path).is_err(), "{path}");
        }
    }
}
