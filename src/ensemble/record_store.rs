//! Finds the record of a change in the files of an ensemble; each file is opened once.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::record_file::{RecordFile, RecordReadError, id_of};
use crate::name::ChangeId;
use crate::value::{List, Value};

/// A file of records, or why it cannot be read.
type RecordFileResult = Result<Rc<RecordFile>, RecordReadError>;

/// The records of an ensemble, by id.
#[derive(Debug, Clone, Default)]
pub struct RecordStore {
    /// The folder of the ensemble.
    base: PathBuf,
    /// The files of records by the jobs that wrote them.
    changelogs: BTreeMap<ChangeId, Arc<str>>,
    files: RefCell<HashMap<Arc<str>, RecordFileResult>>,
    /// The records that the ensemble keeps itself, and their places by id.
    inline: Option<(Arc<List>, HashMap<ChangeId, usize>)>,
}

impl RecordStore {
    /// The store of the ensemble in a folder.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            ..Self::default()
        }
    }

    /// Sets the folder of the ensemble.
    pub(super) fn set_base(&mut self, base: impl Into<PathBuf>) {
        self.base = base.into();
    }

    /// Notes the file that a job wrote.
    pub(super) fn add_changelog(&mut self, job: ChangeId, path: &str) {
        self.changelogs.insert(job, path.into());
    }

    /// Takes the records that the ensemble keeps itself.
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

    /// The folder of the ensemble.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// A file of records, by its path from the ensemble's folder.
    pub fn file(&self, path: &str) -> RecordFileResult {
        if let Some(known) = self.files.borrow().get(path) {
            return known.clone();
        }
        let read = RecordFile::read(&self.base, path).map(Rc::new);
        self.files.borrow_mut().insert(path.into(), read.clone());
        read
    }

    /// The file that holds the record of a task: that of the last job before it.
    pub fn file_of(&self, task: ChangeId) -> Option<&Arc<str>> {
        let mut jobs = self.changelogs.range(..=task);
        jobs.next_back().map(|(_, path)| path)
    }

    /// The job that a task was part of.
    pub fn job_of(&self, task: ChangeId) -> Option<ChangeId> {
        let mut jobs = self.changelogs.range(..=task);
        jobs.next_back().map(|(job, _)| *job)
    }

    /// The record of a task; none if nobody wrote one, and why if it cannot be read.
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
