//! Finds the record of a task by its change id, in the record files or in the manifest. Each file is opened
//! once.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::record_file::{RecordFile, RecordReadError, id_of};
use crate::name::ChangeId;
use crate::value::{List, Value};

/// A record file, or the error of reading it. Both are cached.
type RecordFileResult = Result<Rc<RecordFile>, RecordReadError>;

/// The records of an ensemble, accessible by change id.
#[derive(Debug, Clone, Default)]
pub struct RecordStore {
    base: PathBuf,
    /// The paths of the record files, by the id of the job.
    changelogs: BTreeMap<ChangeId, Arc<str>>,
    files: RefCell<HashMap<Arc<str>, RecordFileResult>>,
    /// The records inside the manifest with their indices by id, if the manifest contains records.
    inline: Option<(Arc<List>, HashMap<ChangeId, usize>)>,
}

impl RecordStore {
    /// Creates a store for the ensemble in the folder `base`.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            ..Self::default()
        }
    }

    pub(super) fn set_base(&mut self, base: impl Into<PathBuf>) {
        self.base = base.into();
    }

    /// Registers the record file of a job.
    pub(super) fn add_changelog(&mut self, job: ChangeId, path: &str) {
        self.changelogs.insert(job, path.into());
    }

    /// Sets the records that the manifest contains.
    pub(super) fn set_inline(&mut self, records: &Value) {
        let records = records.as_list().cloned().unwrap_or_default();
        let mut places = HashMap::new();
        for (place, record) in records.iter().enumerate() {
            if let Some(id) = id_of(record) {
                places.insert(id, place);
            }
        }
        self.inline = Some((Arc::new(records), places));
    }

    /// Adds a record file that is not on disk. A text that cannot be parsed counts as missing.
    pub(super) fn add_file(&mut self, path: &str, text: String) {
        if let Ok(file) = RecordFile::parse(text) {
            self.files.get_mut().insert(path.into(), Ok(Rc::new(file)));
        }
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Returns a record file by its path relative to the ensemble's folder.
    pub fn file(&self, path: &str) -> RecordFileResult {
        if let Some(known) = self.files.borrow().get(path) {
            return known.clone();
        }
        let read = RecordFile::read(&self.base, path).map(Rc::new);
        self.files.borrow_mut().insert(path.into(), read.clone());
        read
    }

    /// Returns the path of the file with a task's record. Change ids are ordered, so it is the file of the
    /// last job at or before the task.
    pub fn file_of(&self, task: ChangeId) -> Option<&Arc<str>> {
        let mut jobs = self.changelogs.range(..=task);
        jobs.next_back().map(|(_, path)| path)
    }

    /// Returns the paths of the last record files, latest first.
    pub(super) fn latest_files(&self, limit: usize) -> Vec<Arc<str>> {
        self.changelogs
            .values()
            .rev()
            .take(limit)
            .cloned()
            .collect()
    }

    /// Returns the records that the manifest contains, if it contains records.
    pub(super) fn inline_records(&self) -> Option<Arc<List>> {
        self.inline.as_ref().map(|(records, _)| Arc::clone(records))
    }

    /// Returns the job that contains a task.
    pub fn job_of(&self, task: ChangeId) -> Option<ChangeId> {
        let mut jobs = self.changelogs.range(..=task);
        jobs.next_back().map(|(job, _)| *job)
    }

    /// Returns the record of a task; `None` if no record exists.
    ///
    /// # Errors
    ///
    /// The record exists but cannot be read.
    pub fn record(&self, task: ChangeId) -> Result<Option<Value>, RecordReadError> {
        if let Some((records, places)) = &self.inline {
            return Ok(places.get(&task).map(|place| records[*place].clone()));
        }
        let Some(path) = self.file_of(task) else {
            return Ok(None);
        };
        let file = self.file(path)?;
        match file.position(task) {
            Some(place) => file.task(place).map(Some),
            None => Err(RecordReadError::NoTask {
                path: path.to_string(),
                task,
            }),
        }
    }
}
