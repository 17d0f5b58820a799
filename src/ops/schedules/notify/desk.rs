//! The desk of a project's schedules: it decides about notices after each run, and queues them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::entry::QueuedNotice;
use super::outbox::Outbox;
use super::secret_access::SecretAccess;
use crate::schedule::{
    Notice, NoticedRun, NotifiedState, NotifyRule, Occasion, SilenceReport, after_run, in_silence,
};
use crate::system::lockfile::LockFile;
use crate::system::{clock, fs, machine};

/// The mode of the files of the desk.
const MODE: u32 = 0o600;

/// The maximum size of the file with the states, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The time to wait for another process that decides about the same schedule.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// The rules of a schedule, with the places of their keys.
#[derive(Debug, Clone)]
pub struct ScheduleNotices {
    pub rules: Vec<NotifyRule>,
    pub secrets: SecretAccess,
}

/// The notices of a project's schedules.
#[derive(Debug, Clone)]
pub struct NoticeDesk {
    project: PathBuf,
    /// The folder of the logs of schedules.
    folder: PathBuf,
    schedules: BTreeMap<Arc<str>, ScheduleNotices>,
}

/// The states of a schedule's rules, as the file has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct States {
    /// The id of the last run about which was decided.
    #[serde(default)]
    last_run: Option<String>,
    /// The states by the ids of the rules.
    #[serde(default)]
    rules: BTreeMap<String, NotifiedState>,
}

impl NoticeDesk {
    /// Creates the desk of a project. `folder` has the logs of its schedules.
    pub fn new(
        project: &Path,
        folder: &Path,
        schedules: BTreeMap<Arc<str>, ScheduleNotices>,
    ) -> Self {
        Self {
            project: project.to_owned(),
            folder: folder.to_owned(),
            schedules,
        }
    }

    /// Decides about the result of a run, and queues the notices. Returns their titles. Nothing happens if the last
    /// decision was about the same run.
    pub fn after_run(&self, run: &str, report: &NoticedRun) -> Result<Vec<String>, fs::Error> {
        self.decide(&report.schedule, Some(run), |rule, state| {
            after_run(rule, state, report)
        })
    }

    /// Returns the id of the last run about which was decided.
    pub(super) fn last_run(&self, schedule: &str) -> Option<String> {
        read_states(&self.states_file(schedule)).ok()?.last_run
    }

    /// Returns the smallest number of due times without an answer that a rule of a schedule wants to know.
    pub(in crate::ops::schedules) fn shortest_silence(&self, schedule: &str) -> Option<u32> {
        let rules = &self.schedules.get(schedule)?.rules;
        let rules = rules.iter().filter(|rule| rule.is_on(Occasion::Silence));
        rules.map(|rule| rule.silence).min()
    }

    fn states_file(&self, schedule: &str) -> PathBuf {
        self.folder.join(format!("{schedule}.notified.json"))
    }

    /// Decides about due times without an answer, and queues the notices. Returns their titles.
    pub fn in_silence(&self, report: &SilenceReport) -> Result<Vec<String>, fs::Error> {
        self.decide(&report.schedule, None, |rule, state| {
            in_silence(rule, state, report)
        })
    }

    /// Queues the notices of all rules first and saves the states then: after a crash in between, the decision is made
    /// again and queues the same notices.
    fn decide(
        &self,
        schedule: &str,
        run: Option<&str>,
        decision: impl Fn(&NotifyRule, &NotifiedState) -> (NotifiedState, Option<Notice>),
    ) -> Result<Vec<String>, fs::Error> {
        let Some(notices) = self.schedules.get(schedule) else {
            return Ok(Vec::new());
        };
        if notices.rules.is_empty() {
            return Ok(Vec::new());
        }
        fs::create_dir_all(&self.folder)?;
        let path = self.states_file(schedule);
        let lock = path.with_extension("lock");
        // Without the lock, a problem may be notified twice, but never less than once.
        let lock = LockFile::wait(&lock, b"", LOCK_LIMIT)?;
        let states = read_states(&path)?;
        if run.is_some() && run == states.last_run.as_deref() {
            return release(lock).map(|()| Vec::new());
        }
        let mut next = States {
            last_run: run.map(str::to_owned).or(states.last_run.clone()),
            ..States::default()
        };
        let mut titles = Vec::new();
        for rule in &notices.rules {
            let state = states.rules.get(&*rule.id).cloned().unwrap_or_default();
            let (state, notice) = decision(rule, &state);
            if let Some(notice) = notice {
                titles.push(notice.title.clone());
                self.queue(notice)?;
            }
            next.rules.insert(rule.id.to_string(), state);
        }
        if next != states {
            // A state is text and numbers, which JSON always expresses.
            let bytes = serde_json::to_vec(&next).unwrap_or_default();
            fs::write_atomic(&path, &bytes, Some(MODE))?;
        }
        release(lock).map(|()| titles)
    }

    fn queue(&self, mut notice: Notice) -> Result<(), fs::Error> {
        let origin = [
            ("host", json!(machine::hostname())),
            ("project", json!(self.project.display().to_string())),
        ];
        if let Some(body) = notice.body.as_object_mut() {
            body.extend(origin.map(|(key, value)| (key.to_owned(), value)));
        }
        self.outbox().put(&QueuedNotice::new(notice, clock::now()))
    }

    pub(super) fn outbox(&self) -> Outbox {
        Outbox::of(&self.folder)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the rule of a waiting notice with the places of keys.
    pub(super) fn rule(&self, schedule: &str, rule: &str) -> Option<(&NotifyRule, &SecretAccess)> {
        let notices = self.schedules.get(schedule)?;
        let rule = notices.rules.iter().find(|it| *it.id == *rule)?;
        Some((rule, &notices.secrets))
    }
}

fn release(lock: Option<LockFile>) -> Result<(), fs::Error> {
    lock.map_or(Ok(()), |lock| lock.remove().map(|_| ()))
}

/// Reads the states. After damage, each target gets all problems anew.
fn read_states(path: &Path) -> Result<States, fs::Error> {
    match fs::read_within(path, MAX_BYTES) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
        Err(error) if error.is_not_found() => Ok(States::default()),
        Err(error) => Err(error),
    }
}
