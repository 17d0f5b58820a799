//! Reads the list of recorded jobs from `jobs.tsv` and from the record files beside it.
//!
//! [`JobLog`] is the entry point. Missing or unreadable parts are skipped and reported in
//! [`JobLog::problems`].

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use super::jobs_tsv::{job_line, task_line};
use super::record_file::id_of;
use super::record_store::RecordStore;
use crate::name::ChangeId;
use crate::system::fs::{self, Beneath};
use crate::value::{Map, Value};

/// The folders with record files: `jobs` has all tasks of a job, `changes` has the committed ones.
const FOLDERS: [&str; 2] = ["jobs", "changes"];

/// The recorded jobs of an ensemble.
#[derive(Debug)]
pub struct JobLog {
    /// The text of `jobs.tsv`; tasks refer to its lines.
    text: String,
    jobs: BTreeMap<ChangeId, LoggedJob>,
    store: RecordStore,
    problems: Vec<String>,
}

/// A recorded job, as far as the log describes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoggedJob {
    /// The final status, if it is recorded.
    pub status: Option<String>,
    /// The start time in the format of records.
    pub start: Option<String>,
    /// The counts of tasks by outcome, as text.
    pub summary: Option<String>,
    /// The path of the committed record file.
    pub changelog: Option<String>,
    /// The path of the record file with all tasks.
    pub full: Option<String>,
    /// The full record, if the manifest contains it.
    pub record: Option<Value>,
    /// The tasks in the log: their ids and the byte ranges of their lines.
    tasks: Vec<(ChangeId, Range<usize>)>,
}

/// A recorded task: one line of `jobs.tsv`.
#[derive(Debug, Clone)]
pub struct LoggedTask<'a> {
    pub id: ChangeId,
    fields: HashMap<&'a str, &'a str>,
}

impl LoggedTask<'_> {
    /// Returns the value of a field; `None` if it is missing or empty.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields
            .get(key)
            .copied()
            .filter(|text| !text.is_empty())
    }

    /// Whether the task's target is the instance or a part of it. `name` is a name or a key.
    pub fn is_about(&self, name: &str) -> bool {
        let target = self.get("target").unwrap_or_default();
        is_about(name, self.get("digestOf").unwrap_or(target)) || is_about(name, target)
    }
}

/// Whether a target's key denotes the instance `name` or a part of it. `name` is a name or a key.
pub fn is_about(name: &str, target: &str) -> bool {
    let bare = name.strip_prefix("::").unwrap_or(name).replace(":::", ":");
    let target = target.split_once("::.").map_or(target, |(node, _)| node);
    let target = target.strip_prefix("::").unwrap_or(target);
    target.replace(":::", ":") == bare
}

impl JobLog {
    /// Reads the log of the ensemble in the folder `base`.
    ///
    /// If the manifest contains the records itself, `inline` is the list of these records and the record of
    /// the last job; `jobs.tsv` is not read then.
    pub fn read(base: &Path, inline: Option<(&Value, &Value)>) -> Self {
        let mut problems = Vec::new();
        let path = Path::new("jobs.tsv");
        let mut store = RecordStore::new(base);
        let text = match inline {
            Some((records, last_job)) => {
                store.set_inline(records);
                lines_of(records, last_job)
            }
            None => match Beneath::open(base).and_then(|it| it.read(path, fs::MAX_READ_BYTES)) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(error) if error.is_not_found() => String::new(),
                Err(error) => {
                    problems.push(error.to_string());
                    String::new()
                }
            },
        };
        let mut log = Self {
            text,
            jobs: BTreeMap::new(),
            store,
            problems,
        };
        log.add_lines();
        log.add_files(base);
        if let Some((_, last_job)) = inline
            && let Some(job) = id_of(last_job).and_then(|id| log.jobs.get_mut(&id))
        {
            job.record = Some(last_job.clone());
        }
        log
    }

    fn add_lines(&mut self) {
        let mut tasks = Vec::new();
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let range = at..at + line.trim_end().len();
            at += line.len();
            let Some(task) = task_at(line.trim_end()) else {
                continue;
            };
            if task.get("target").is_some() && task.get("operation").is_some() {
                tasks.push((task.id, range));
                continue;
            }
            let own = |key: &str| task.get(key).map(str::to_owned);
            let job = self.jobs.entry(task.id).or_default();
            job.status = own("status");
            job.start = own("startTime");
            job.summary = own("summary");
            job.changelog = own("changelog");
            if let Some(path) = &job.changelog {
                self.store.add_changelog(task.id, path);
            }
        }
        for (id, range) in tasks {
            let job = self.jobs.range_mut(..=id).next_back();
            let job = match job {
                Some((_, job)) => job,
                // The line of the task's job is missing, so the job's id is derived from the task's id.
                None => self.jobs.entry(job_of(id)).or_default(),
            };
            job.tasks.push((id, range));
        }
        for job in self.jobs.values_mut() {
            job.tasks.sort_by_key(|(id, _)| *id);
        }
    }

    /// Adds the jobs whose record files exist. The file names contain the id and the start time.
    fn add_files(&mut self, base: &Path) {
        for folder in FOLDERS {
            let listed = Beneath::open(base).and_then(|base| base.list(Path::new(folder)));
            let entries = match listed {
                Ok(entries) => entries,
                Err(error) if error.is_not_found() => continue,
                Err(error) => {
                    self.problems.push(error.to_string());
                    continue;
                }
            };
            for entry in entries {
                let name = &entry.name;
                let Some((id, start)) = parse_file_name(name) else {
                    continue;
                };
                let path = format!("{folder}/{name}");
                let job = self.jobs.entry(id).or_default();
                job.start.get_or_insert(start);
                if folder == "jobs" {
                    job.full = Some(path);
                } else if job.changelog.is_none() {
                    self.store.add_changelog(id, &path);
                    job.changelog = Some(path);
                }
            }
        }
    }

    /// Returns all jobs, oldest first.
    pub fn jobs(&self) -> impl DoubleEndedIterator<Item = (ChangeId, &LoggedJob)> {
        self.jobs.iter().map(|(id, job)| (*id, job))
    }

    pub fn job(&self, id: ChangeId) -> Option<&LoggedJob> {
        self.jobs.get(&id)
    }

    /// Returns the jobs whose ids begin with `prefix`.
    pub fn starting_with(&self, prefix: &str) -> Vec<ChangeId> {
        let ids = self.jobs.keys().copied();
        ids.filter(|id| id.as_str().starts_with(prefix)).collect()
    }

    /// Returns the job that contains a task, if the log has that job.
    pub fn job_of_task(&self, task: ChangeId) -> Option<ChangeId> {
        let (id, job) = self.jobs.range(..=task).next_back()?;
        let known = job.tasks.iter().any(|(own, _)| *own == task);
        (known || id.prefix() == task.prefix()).then_some(*id)
    }

    /// Returns the tasks of a job that are in the log, in the order of their ids.
    pub fn tasks_of<'a>(
        &'a self,
        job: &'a LoggedJob,
    ) -> impl Iterator<Item = LoggedTask<'a>> + use<'a> {
        let lines = job.tasks.iter();
        lines.filter_map(|(_, range)| task_at(&self.text[range.clone()]))
    }

    /// Whether a job changed an instance. If the log has no tasks of the job, its record file is read.
    pub fn is_about(&self, job: &LoggedJob, name: &str) -> bool {
        if self.tasks_of(job).any(|task| task.is_about(name)) {
            return true;
        }
        let path = job.full.as_ref().filter(|_| job.tasks.is_empty());
        let Some(Ok(file)) = path.map(|path| self.store.file(path)) else {
            return false;
        };
        (0..file.len()).any(|place| {
            let record = file.task(place).unwrap_or_default();
            let target = record.get("digestOf").or_else(|| record.get("target"));
            target.is_some_and(|target| is_about(name, &target.to_string()))
        })
    }

    /// Gives access to the full records of tasks.
    pub fn records(&self) -> &RecordStore {
        &self.store
    }

    /// Messages about files that could not be read.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

/// Converts inline records to the text of `jobs.tsv`, with one line for each job.
fn lines_of(records: &Value, last_job: &Value) -> String {
    let mut lines = String::new();
    let mut last = None;
    let records = records.as_list().into_iter().flatten();
    for (map, id) in records.filter_map(|record| Some((record.as_map()?, id_of(record)?))) {
        let job = job_of(id);
        if last.replace(job) != Some(job) {
            lines.push_str(&line_of_job(job, map, last_job));
        }
        lines.push_str(&task_line(map));
    }
    lines
}

fn line_of_job(job: ChangeId, first: &Map, last_job: &Value) -> String {
    let id = Value::from(job.as_str());
    match last_job.as_map() {
        Some(record) if record.get("changeId") == Some(&id) => {
            let ready = record.get("readyState").and_then(|it| it.get("local"));
            job_line(record, ready.and_then(Value::as_str).unwrap_or_default())
        }
        _ => {
            let start = first.get("startTime").cloned().unwrap_or_default();
            let record = Map::from_iter([("changeId".into(), id), ("startTime".into(), start)]);
            job_line(&record, "")
        }
    }
}

fn task_at(line: &str) -> Option<LoggedTask<'_>> {
    let mut terms = line.split('\t');
    let id = ChangeId::parse(terms.next()?).ok()?;
    let fields = terms.filter_map(|term| term.split_once('='));
    Some(LoggedTask {
        id,
        fields: fields.collect(),
    })
}

/// Derives the id of a task's job by setting the task counter to 0. This works for the first 65,535 tasks.
fn job_of(task: ChangeId) -> ChangeId {
    let id = format!("{}0000", task.prefix());
    ChangeId::parse(&id).unwrap_or(task)
}

/// Extracts the job's id and start time from the name of a record file: `job<time>-<id>.yaml`.
fn parse_file_name(name: &str) -> Option<(ChangeId, String)> {
    let (time, id) = name
        .strip_prefix("job")?
        .strip_suffix(".yaml")?
        .rsplit_once('-')?;
    let id = ChangeId::parse(&format!("{id}0000")).ok()?;
    Some((id, time.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ChangeId {
        ChangeId::parse(text).unwrap()
    }

    #[test]
    fn tasks_belong_to_the_job_before_them_whatever_the_order_of_lines() {
        let text = "# comment\nA6BL7ntT0001\tstatus=ok\ttarget=::b\toperation=create\n\
            A6BL7ntS0000\tstatus=ok\tstartTime=2026-11-21-07-49-55-1\tsummary=1 tasks\n\
            A6BL7ntS0001\tstatus=ok\ttarget=::a::.requirements::[.name=x]\toperation=create\n\
            A6BL7ntT0000\tstatus=error\nnonsense\n";
        let folder = tempfile::tempdir().unwrap();
        fs::write_plain(&folder.path().join("jobs.tsv"), text.as_bytes(), None).unwrap();
        let log = JobLog::read(folder.path(), None);
        let all: Vec<_> = log
            .jobs()
            .map(|(id, job)| (id.to_string(), job.tasks.len()))
            .collect();
        assert_eq!(
            all,
            [("A6BL7ntS0000".into(), 1), ("A6BL7ntT0000".into(), 1)]
        );
        assert_eq!(
            log.job_of_task(id("A6BL7ntT0001")),
            Some(id("A6BL7ntT0000"))
        );
        assert_eq!(log.starting_with("A6BL7ntS"), [id("A6BL7ntS0000")]);
        let job = log.job(id("A6BL7ntS0000")).unwrap();
        assert!(log.is_about(job, "a") && log.is_about(job, "::a") && !log.is_about(job, "b"));
    }

    #[test]
    fn jobs_are_found_by_their_files_where_the_log_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["changes/job2026-11-21-07-49-55-A6BL7ntS.yaml", "jobs/x.log"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write_plain(&path, b"changes:\n", None).unwrap();
        }
        let log = JobLog::read(folder.path(), None);
        let (job, found) = log.jobs().next().unwrap();
        assert_eq!(job, id("A6BL7ntS0000"));
        assert_eq!(found.start.as_deref(), Some("2026-11-21-07-49-55"));
        assert_eq!(log.jobs().count(), 1);
    }

    #[test]
    fn an_instance_is_meant_by_its_name_and_by_its_key() {
        for (name, target) in [
            ("web", "::web"),
            ("::web", "::web::.capabilities::[.name=x]"),
            ("outer:web", "outer:::web"),
            ("outer:::web", "outer:::web"),
        ] {
            assert!(is_about(name, target), "{name} {target}");
        }
        assert!(!is_about("we", "::web") && !is_about("web", "::web2"));
    }
}
