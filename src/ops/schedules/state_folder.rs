//! The folder `local/schedules` of a project: one log per schedule, under one lock.
//!
//! A change is decided, written and synced while the lock is held. Two servers on one project therefore never claim
//! the same due time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use crate::git::Repository;
use crate::schedule::{CUT_LINE_END, Row, ScheduleLog};
use crate::system::fs::{self, Appender, FILE_MODE};
use crate::system::lockfile::LockFile;

/// The time to wait for another process that changes a log.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The state of the schedules of a project.
#[derive(Debug, Clone)]
pub(super) struct StateFolder {
    path: PathBuf,
}

/// The reason why the state cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StateError {
    #[error(transparent)]
    File(#[from] fs::Error),
    #[error("another process has held `{}` for {} s", lock.display(), LOCK_TIMEOUT.as_secs())]
    Busy { lock: PathBuf },
}

/// The size and the time of a log. Another one means that another process has changed the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LogSignature(Option<(SystemTime, u64)>);

/// Returns the sentence about damaged lines of a log.
pub fn damage_text(count: usize, file: &Path) -> String {
    let lines = if count == 1 { "line is" } else { "lines are" };
    let file = file.display();
    format!(
        "{count} {lines} damaged in `{file}` and left out; the rows of their due times may be missing"
    )
}

impl StateFolder {
    pub(super) fn of(root: &Path) -> Self {
        Self {
            path: root.join("local").join("schedules"),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a schedule's log.
    pub(super) fn log_file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.tsv"))
    }

    fn checked_file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.checked"))
    }

    /// Creates the folder, and keeps it out of git.
    pub(super) fn prepare(&self) -> Result<(), StateError> {
        if fs::is_dir(&self.path) {
            return Ok(());
        }
        fs::create_dir_all(&self.path)?;
        if let Ok(Some(repository)) = Repository::discover(&self.path) {
            // A repository that cannot be written does not hinder schedules.
            let probe = self.path.join("lock");
            repository
                .ensure_excluded(&[("**/local/schedules/", probe.as_path())])
                .ok();
        }
        Ok(())
    }

    /// Reads the log of a schedule. A missing one is empty.
    pub(super) fn read(&self, name: &str) -> Result<ScheduleLog, StateError> {
        Ok(ScheduleLog::parse(&self.text(name)?))
    }

    fn text(&self, name: &str) -> Result<String, StateError> {
        match fs::read(&self.log_file(name)) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.is_not_found() => Ok(String::new()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn signature(&self, name: &str) -> LogSignature {
        let file = self.log_file(name);
        let size = fs::stat_of(&file).ok().map(|stat| stat.size);
        LogSignature(fs::modified_time(&file).zip(size))
    }

    /// Changes the log of a schedule under the lock. The rows are durable when the function returns.
    pub(super) fn change<T>(
        &self,
        name: &str,
        decide: impl FnOnce(&mut ScheduleLog) -> (Vec<Row>, T),
    ) -> Result<T, StateError> {
        self.prepare()?;
        let lock = self.lock()?;
        let changed = self.change_locked(name, decide);
        lock.remove()?;
        changed
    }

    fn lock(&self) -> Result<LockFile, StateError> {
        let path = self.path.join("state.lock");
        let content = format!("{}\n", crate::system::machine::pid());
        let lock = LockFile::wait(&path, content.as_bytes(), LOCK_TIMEOUT)?;
        lock.ok_or(StateError::Busy { lock: path })
    }

    fn change_locked<T>(
        &self,
        name: &str,
        decide: impl FnOnce(&mut ScheduleLog) -> (Vec<Row>, T),
    ) -> Result<T, StateError> {
        let text = self.text(name)?;
        let mut log = ScheduleLog::parse(&text);
        let (rows, answer) = decide(&mut log);
        if rows.is_empty() {
            return Ok(answer);
        }
        let mut added: String = rows.iter().map(Row::to_line).collect();
        if !text.is_empty() && !text.ends_with('\n') {
            // A crash has cut off the last line. Without a mark it could become a row, beside the same row written again.
            added.insert_str(0, CUT_LINE_END);
        }
        let file = self.log_file(name);
        if log.is_large(text.len() + added.len()) {
            let mut log = ScheduleLog::parse(&text);
            for row in rows {
                log.apply(row);
            }
            fs::write_atomic(&file, log.compacted().as_bytes(), Some(FILE_MODE))?;
            return Ok(answer);
        }
        let mut appender = Appender::open(&file, FILE_MODE)?;
        appender.append(added.as_bytes())?;
        appender.sync()?;
        Ok(answer)
    }

    /// Returns the times at which a schedule looked at ensembles, by the paths of their manifests.
    pub(super) fn checked(&self, name: &str) -> BTreeMap<String, Timestamp> {
        let text = fs::read_to_string(&self.checked_file(name)).unwrap_or_default();
        let entry = |line: &str| {
            let (time, manifest) = line.split_once('\t')?;
            Some((manifest.to_owned(), time.parse().ok()?))
        };
        text.lines().filter_map(entry).collect()
    }

    /// Saves the times at which a schedule looked at ensembles.
    pub(super) fn save_checked(
        &self,
        name: &str,
        checked: &BTreeMap<String, Timestamp>,
    ) -> Result<(), StateError> {
        let lines = checked
            .iter()
            .map(|(manifest, time)| format!("{time}\t{manifest}\n"));
        let text: String = lines.collect();
        fs::write_atomic(&self.checked_file(name), text.as_bytes(), Some(FILE_MODE))?;
        Ok(())
    }
}
