//! The jobs of an ensemble, from `jobs.tsv` and the files of records beside it. What is missing or
//! cannot be read is told and passed over.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use super::jobs_tsv::{job_line, task_line};
use super::record_file::id_of;
use super::record_store::RecordStore;
use crate::name::ChangeId;
use crate::system::fs;
use crate::value::{Map, Value};

/// Where records of jobs are: those with all tasks, and those that are committed.
const FOLDERS: [&str; 2] = ["jobs", "changes"];

/// The jobs of an ensemble.
#[derive(Debug)]
pub struct JobLog {
    /// The lines of tasks.
    text: String,
    jobs: BTreeMap<ChangeId, LoggedJob>,
    store: RecordStore,
    problems: Vec<String>,
}

/// A job on record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoggedJob {
    /// How it ended, where that is told.
    pub status: Option<String>,
    /// When it started, as records write it.
    pub start: Option<String>,
    /// How many tasks ended in which way.
    pub summary: Option<String>,
    /// The file of its record that is committed.
    pub changelog: Option<String>,
    /// The file of its record with all tasks.
    pub full: Option<String>,
    /// Its record, where the ensemble keeps that itself.
    pub record: Option<Value>,
    /// Its tasks that are in the log: the places of their lines.
    tasks: Vec<(ChangeId, Range<usize>)>,
}

/// A task on record, as the log has it in one line.
#[derive(Debug, Clone)]
pub struct LoggedTask<'a> {
    /// Its id.
    pub id: ChangeId,
    fields: HashMap<&'a str, &'a str>,
}

impl LoggedTask<'_> {
    /// What the log says of it under a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields
            .get(key)
            .copied()
            .filter(|text| !text.is_empty())
    }

    /// Whether it was applied to an instance, or to a part of one. `name` may be a key.
    pub fn is_about(&self, name: &str) -> bool {
        let target = self.get("target").unwrap_or_default();
        is_about(name, self.get("digestOf").unwrap_or(target)) || is_about(name, target)
    }
}

/// Whether a target's key is that of an instance or of a part of it.
pub fn is_about(name: &str, target: &str) -> bool {
    let bare = name.strip_prefix("::").unwrap_or(name).replace(":::", ":");
    let target = target.split_once("::.").map_or(target, |(node, _)| node);
    let target = target.strip_prefix("::").unwrap_or(target);
    target.replace(":::", ":") == bare
}

impl JobLog {
    /// Reads the log of the ensemble in a folder. `inline` are the records that its file keeps
    /// itself, if it does, and that of the last job.
    pub fn read(base: &Path, inline: Option<(&Value, &Value)>) -> Self {
        let mut problems = Vec::new();
        let path = base.join("jobs.tsv");
        let mut store = RecordStore::new(base);
        let text = match inline {
            Some((records, last_job)) => {
                store.set_inline(records);
                lines_of(records, last_job)
            }
            None if !fs::exists(&path) => String::new(),
            None => match fs::read(&path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
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
                // Its job's own line is lost.
                None => self.jobs.entry(job_of(id)).or_default(),
            };
            job.tasks.push((id, range));
        }
        for job in self.jobs.values_mut() {
            job.tasks.sort_by_key(|(id, _)| *id);
        }
    }

    /// Adds what the files of records tell by their names.
    fn add_files(&mut self, base: &Path) {
        for folder in FOLDERS {
            let path = base.join(folder);
            if !fs::is_dir(&path) {
                continue;
            }
            let entries = match fs::list(&path) {
                Ok(entries) => entries,
                Err(error) => {
                    self.problems.push(error.to_string());
                    continue;
                }
            };
            for entry in entries {
                let name = &entry.name;
                let Some((id, start)) = of_file_name(name) else {
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

    /// All jobs, oldest first.
    pub fn jobs(&self) -> impl DoubleEndedIterator<Item = (ChangeId, &LoggedJob)> {
        self.jobs.iter().map(|(id, job)| (*id, job))
    }

    /// The job of an id.
    pub fn job(&self, id: ChangeId) -> Option<&LoggedJob> {
        self.jobs.get(&id)
    }

    /// The jobs whose ids begin with a text.
    pub fn starting_with(&self, prefix: &str) -> Vec<ChangeId> {
        let ids = self.jobs.keys().copied();
        ids.filter(|id| id.as_str().starts_with(prefix)).collect()
    }

    /// The job that a task was part of, if it is in the log.
    pub fn job_with(&self, task: ChangeId) -> Option<ChangeId> {
        let (id, job) = self.jobs.range(..=task).next_back()?;
        let known = job.tasks.iter().any(|(own, _)| *own == task);
        (known || id.prefix() == task.prefix()).then_some(*id)
    }

    /// The tasks of a job that are in the log, in order.
    pub fn tasks_of<'a>(
        &'a self,
        job: &'a LoggedJob,
    ) -> impl Iterator<Item = LoggedTask<'a>> + use<'a> {
        let lines = job.tasks.iter();
        lines.filter_map(|(_, range)| task_at(&self.text[range.clone()]))
    }

    /// Whether a job did something to an instance.
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

    /// The records of single changes.
    pub fn records(&self) -> &RecordStore {
        &self.store
    }

    /// What could not be read.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

/// Records in the form of lines of the log, with one for each job.
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

/// The id of the job that a task of the first 65,535 is part of.
fn job_of(task: ChangeId) -> ChangeId {
    let id = format!("{}0000", task.prefix());
    ChangeId::parse(&id).unwrap_or(task)
}

/// The id and the start of the job that a file of records is named after: `job<time>-<id>.yaml`.
fn of_file_name(name: &str) -> Option<(ChangeId, String)> {
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
        assert_eq!(log.job_with(id("A6BL7ntT0001")), Some(id("A6BL7ntT0000")));
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
