//! Finds the jobs that last set values and those that left instances unfinished, in the records of jobs.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::history::read_log;
use super::job_log::{JobLog, LoggedTask};
use super::jobs_tsv::CRASH_KEY;
use super::last_failures::last_failed_operations;
use super::record_time::parse_stamp;
use crate::name::ChangeId;

/// The operations that look at an instance and make nothing, so their failures leave nothing behind.
const LOOKS: [&str; 2] = ["check", "discover"];

/// A recorded job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTrace {
    pub job: ChangeId,
    /// The record of the job that is committed.
    pub file: Option<PathBuf>,
}

/// The last recorded tasks of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastTasks {
    /// The last task that made something.
    pub made: Option<ChangeId>,
    /// True if a later task has only looked at the instance.
    pub was_checked: bool,
}

/// The traces of jobs in an ensemble. The log is read once.
#[derive(Debug)]
pub struct JobTraces {
    log: JobLog,
    manifest: PathBuf,
    folder: PathBuf,
}

impl JobTraces {
    pub fn read(manifest: &Path, folder: &Path) -> Self {
        Self {
            log: read_log(manifest, folder),
            manifest: manifest.to_owned(),
            folder: folder.to_owned(),
        }
    }

    /// Returns the job of a task.
    pub fn job_of(&self, task: ChangeId) -> Option<JobTrace> {
        let job = self.log.job_of_task(task)?;
        let file = self.log.job(job).and_then(|it| it.changelog.as_ref());
        Some(JobTrace {
            job,
            file: file.map(|path| self.folder.join(path)),
        })
    }

    /// Returns the start of a job: as its record has it, or else to the second, as the id tells.
    pub fn start_of(&self, job: ChangeId) -> Option<Timestamp> {
        let start = self.log.job(job).and_then(|it| it.start.as_deref());
        start.and_then(parse_stamp).or_else(|| job.time())
    }

    /// Returns the last task that set each of the attributes, by the attribute's key.
    pub fn setters(&self, keys: &HashSet<String>) -> HashMap<String, ChangeId> {
        let mut setters = HashMap::new();
        for (_, job) in self.log.jobs() {
            for task in self.log.tasks_of(job) {
                for key in task.get("digestPut").unwrap_or_default().split(',') {
                    if keys.contains(key) {
                        setters.insert(key.to_owned(), task.id);
                    }
                }
            }
        }
        setters
    }

    /// Returns the last tasks of instances, by the unique keys of the instances.
    pub fn last_tasks(&self, keys: &HashSet<String>) -> HashMap<String, LastTasks> {
        let mut last: HashMap<String, LastTasks> = HashMap::new();
        for (_, job) in self.log.jobs() {
            for task in self.log.tasks_of(job) {
                let key = task.get("digestOf").or_else(|| task.get("target"));
                let Some(key) = key.and_then(|key| keys.get(key)) else {
                    continue;
                };
                let tasks = last.entry(key.clone()).or_default();
                let looks = task.get("operation").is_some_and(|it| LOOKS.contains(&it));
                tasks.was_checked = looks;
                if !looks {
                    tasks.made = Some(task.id);
                }
            }
        }
        last
    }

    /// Returns the jobs that left instances unfinished: the last operation failed, or the job was cut off. `keys` are the
    /// unique keys of the instances.
    pub fn unfinished(&self, keys: &HashSet<String>) -> HashMap<String, ChangeId> {
        let failures = last_failed_operations(&self.manifest, &self.folder, keys.clone());
        let failures = failures.into_iter();
        let mut unfinished: HashMap<String, ChangeId> =
            failures.map(|(key, failure)| (key, failure.job)).collect();
        let mut open: HashSet<&String> = keys.iter().collect();
        for (id, job) in self.log.jobs().rev() {
            if open.is_empty() {
                break;
            }
            let mut touched = HashMap::new();
            for task in self.log.tasks_of(job) {
                let key = task.get("digestOf").or_else(|| task.get("target"));
                if task.get("operation").is_some_and(|it| LOOKS.contains(&it)) {
                    continue;
                }
                if let Some(key) = key.and_then(|key| keys.get(key)) {
                    touched.insert(key, is_cut_off(&task));
                }
            }
            for (key, was_cut_off) in touched {
                if open.remove(key) && was_cut_off {
                    unfinished.entry(key.clone()).or_insert(id);
                }
            }
        }
        unfinished
    }
}

fn is_cut_off(task: &LoggedTask<'_>) -> bool {
    task.get(CRASH_KEY).is_some() || task.get("status") == Some("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fs;

    fn id(text: &str) -> ChangeId {
        ChangeId::parse(text).unwrap()
    }

    #[test]
    fn setters_and_cut_off_jobs_are_found_in_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let text = "A6BL7ntS0000\tstatus=ok\tchangelog=changes/jobx-A6BL7ntS.yaml\n\
            A6BL7ntS0001\tstatus=ok\ttarget=::a\toperation=create\tdigestPut=::a::x,::a::y\n\
            A6BL7ntS0002\tstatus=ok\ttarget=::b\toperation=create\tcutOff=::b\n\
            A6BL7ntT0000\tstatus=error\n\
            A6BL7ntT0001\tstatus=unknown\ttarget=::a\toperation=configure\tdigestPut=::a::y\tcutOff=::a\n\
            A6BL7ntU0000\tstatus=ok\n\
            A6BL7ntU0001\tstatus=ok\ttarget=::b\toperation=configure\n";
        fs::write_plain(&folder.path().join("jobs.tsv"), text.as_bytes(), None).unwrap();
        let manifest = folder.path().join("ensemble.yaml");
        let traces = JobTraces::read(&manifest, folder.path());
        let keys = ["::a::x", "::a::y", "::a::z"].map(str::to_owned);
        let setters = traces.setters(&HashSet::from(keys));
        let expected = [("::a::x", "A6BL7ntS0001"), ("::a::y", "A6BL7ntT0001")];
        let expected = expected.map(|(key, task)| (key.to_owned(), id(task)));
        assert_eq!(setters, HashMap::from(expected));
        let trace = traces.job_of(id("A6BL7ntS0001")).unwrap();
        assert_eq!(trace.job, id("A6BL7ntS0000"));
        let file = folder.path().join("changes/jobx-A6BL7ntS.yaml");
        assert_eq!(trace.file.unwrap(), file);
        let keys = HashSet::from(["::a", "::b"].map(str::to_owned));
        let last = traces.last_tasks(&keys);
        assert_eq!(last["::b"].made, Some(id("A6BL7ntU0001")));
        assert!(!last["::b"].was_checked);
        let unfinished = traces.unfinished(&keys);
        let expected = HashMap::from([("::a".to_owned(), id("A6BL7ntT0000"))]);
        assert_eq!(unfinished, expected);
    }
}
