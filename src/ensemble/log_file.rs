//! The log file of a job, which contains every message and is stored beside the record at the end.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Sources};
use crate::job::{JobEvent, TargetState, TaskRecord};
use crate::name::{NodeState, Status};
use crate::system::fs::{self, Beneath, EntryKind};
use crate::system::lockfile::LockFile;
use crate::system::{clock, env};
use crate::text::escape_controls;

/// The start of the names of temporary logs.
const TEMPORARY_START: &str = "unfurl-";
/// The end of the names of temporary logs.
const TEMPORARY_END: &str = ".log";

/// Writes a job's log to a temporary file and moves it to its final path when the job ends.
///
/// The log of a run that did nothing is not kept, unless the user chose its path.
#[derive(Debug)]
pub(crate) struct LogFile {
    destination: Destination,
    /// The log has lines besides those of the start and the end of the job.
    has_content: bool,
}

/// The destination of a log while its job runs.
#[derive(Debug)]
enum Destination {
    /// A file at the path that the user chose, which stays.
    Chosen(fs::Appender),
    /// A temporary file.
    Temporary(PathBuf, fs::Appender),
    /// The memory of this process.
    Memory(Vec<u8>),
    /// No temporary file could be created, or the log was moved to its final path.
    None,
}

impl LogFile {
    /// Opens the log at the path that the user chose, or at a temporary path.
    ///
    /// # Errors
    ///
    /// The file at the user's path cannot be written.
    pub(crate) fn open(own: Option<&Path>) -> Result<Self, fs::Error> {
        if let Some(own) = own {
            return Self::open_chosen(own);
        }
        let name = format!("{TEMPORARY_START}{}{TEMPORARY_END}", ulid::Ulid::generate());
        let path = env::temporary_dir().join(name);
        // The log contains the output of tasks, so other users must not read it.
        Ok(Self::to(match fs::Appender::open(&path, fs::SECRET_MODE) {
            Ok(file) => {
                file.lock();
                Destination::Temporary(path, file)
            }
            // The user did not request the temporary log, so its failure must not fail the job.
            Err(_) => Destination::None,
        }))
    }

    fn to(destination: Destination) -> Self {
        Self {
            destination,
            has_content: false,
        }
    }

    /// Opens the log of a plan, which is held in memory unless the user chose a path. A plan writes no file
    /// outside of the ensemble.
    ///
    /// # Errors
    ///
    /// The file at the user's path cannot be written.
    pub(crate) fn open_for_plan(own: Option<&Path>) -> Result<Self, fs::Error> {
        own.map_or_else(
            || Ok(Self::to(Destination::Memory(Vec::new()))),
            Self::open_chosen,
        )
    }

    fn open_chosen(path: &Path) -> Result<Self, fs::Error> {
        let file = fs::Appender::open(path, fs::SECRET_MODE)?;
        file.lock();
        Ok(Self::to(Destination::Chosen(file)))
    }

    /// Removes the temporary logs of this user's jobs that were killed. A job that runs has locked its log.
    pub(crate) fn remove_abandoned() {
        for entry in fs::list(&env::temporary_dir()).unwrap_or_default() {
            let id = entry.name.strip_prefix(TEMPORARY_START);
            let id = id.and_then(|name| name.strip_suffix(TEMPORARY_END));
            let is_log = id.is_some_and(|id| id.parse::<ulid::Ulid>().is_ok());
            if !is_log || entry.kind != EntryKind::File || !fs::is_own(&entry.path) {
                continue;
            }
            // A log that cannot be removed does no harm.
            if let Ok(Some(log)) = LockFile::open(&entry.path)
                && log.is_locked()
            {
                log.remove().ok();
            }
        }
    }

    /// Appends a message. Control characters are escaped, so that the file can be shown on a terminal.
    /// Further lines of a message are indented, so that they do not look like other messages.
    fn line(&mut self, level: &str, text: &str) {
        self.has_content = true;
        self.append(level, text);
    }

    fn append(&mut self, level: &str, text: &str) {
        let time = clock::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let text = escape_controls(text).replace('\n', "\n  ");
        let line = format!("{time} {level}: {text}\n");
        match &mut self.destination {
            // A log that cannot be written must not stop the job.
            Destination::Chosen(file) | Destination::Temporary(_, file) => {
                file.append(line.as_bytes()).ok();
            }
            Destination::Memory(bytes) => bytes.extend_from_slice(line.as_bytes()),
            Destination::None => {}
        }
    }

    /// Writes the message of an event, if it has one.
    pub(crate) fn event(&mut self, event: &JobEvent) {
        match event {
            JobEvent::Message { level, text } => {
                self.line(&level.as_str().to_ascii_uppercase(), text);
            }
            JobEvent::Problem(problem) => self.line("ERROR", &problem.message),
            JobEvent::TaskStarted(task) => {
                let (operation, target) = (&task.operation, &task.target.key);
                let text = format!("started {operation} on {target} ({})", task.reason);
                self.line("INFO", &text);
            }
            JobEvent::TaskFinished(task) => self.log_task_end(task),
            JobEvent::JobStarted(start) => {
                let (id, workflow) = (&start.head.id, &start.head.workflow);
                let steps = match start.steps {
                    1 => "1 step".to_owned(),
                    steps => format!("{steps} steps"),
                };
                let text = format!("job {id}: {workflow}, {steps}");
                self.append("INFO", &text);
            }
            JobEvent::JobFinished { id, status } => {
                self.append("INFO", &format!("job {id} has ended: {status}"));
            }
            JobEvent::TaskProgress { .. }
            | JobEvent::TaskAmended(_)
            | JobEvent::TemplateAdded { .. }
            | JobEvent::GroupsSettled(_)
            | JobEvent::InstanceChanged(_) => {}
        }
    }

    fn log_task_end(&mut self, task: &TaskRecord) {
        let (level, end) = if task.is_ok() {
            ("INFO", "succeeded")
        } else {
            ("ERROR", "failed")
        };
        let TargetState { status, state } = task.target_state;
        let text = format!(
            "{} on {} {end}: status {}, state {}",
            task.operation,
            task.target.key,
            status.map_or("none", Status::as_str),
            state.map_or("none", NodeState::as_str)
        );
        self.line(level, &text);
        for error in task.errors() {
            self.line("ERROR", error);
        }
    }

    /// Writes a problem with its first source position.
    pub(crate) fn problem(&mut self, problem: &Diagnostic, sources: &Sources) {
        let place = problem.span().and_then(|span| sources.position(span));
        let place = place.map_or_else(String::new, |place| format!(" ({place})"));
        self.line("ERROR", &format!("{}{place}", problem.message));
    }

    /// Moves a temporary log to `<folder>/<name>.log` beneath `base`, unless nothing happened in the run.
    pub(crate) fn move_to(mut self, base: &Path, folder: &str, name: &str) {
        let target = Path::new(folder).join(format!("{name}.log"));
        let write =
            |bytes: &[u8]| Beneath::open(base)?.write_plain(&target, bytes, Some(fs::SECRET_MODE));
        match std::mem::replace(&mut self.destination, Destination::None) {
            Destination::Chosen(mut file) => drop(file.sync()),
            Destination::Temporary(path, file) if !self.has_content => {
                self.destination = Destination::Temporary(path, file);
            }
            Destination::Memory(_) if !self.has_content => {}
            Destination::Temporary(path, mut file) => {
                file.sync().ok();
                let moved = fs::read(&path).and_then(|bytes| write(&bytes));
                if moved.is_ok() {
                    // The temporary file is removed. A log that cannot be moved stays there.
                    self.destination = Destination::Temporary(path, file);
                }
            }
            // A plan has no other place for its log.
            Destination::Memory(bytes) => drop(write(&bytes)),
            Destination::None => {}
        }
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        if let Destination::Temporary(path, _) = &self.destination {
            fs::remove_file_if_exists(path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::LogLevel;
    use crate::name::ChangeId;

    #[test]
    fn a_run_in_which_nothing_happened_leaves_no_log() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::list(&folder.path().join("jobs")).map_or(0, |names| names.len());
        let ended = JobEvent::JobFinished {
            id: ChangeId::job(clock::now()).unwrap(),
            status: "ok",
        };
        for said in [None, Some("a task ran")] {
            for open in [LogFile::open, LogFile::open_for_plan] {
                let (mut log, before) = (open(None).unwrap(), names());
                if let Some(text) = said {
                    log.event(&JobEvent::Message {
                        level: LogLevel::Info,
                        text: text.into(),
                    });
                }
                log.event(&ended);
                log.move_to(folder.path(), "jobs", &format!("job{before}"));
                assert_eq!(names() - before, usize::from(said.is_some()));
            }
        }
    }

    #[test]
    fn a_message_cannot_look_like_two_or_steer_a_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("job.log");
        let mut log = LogFile::open(Some(&path)).unwrap();
        log.event(&JobEvent::Message {
            level: LogLevel::Error,
            text: "failed\r\n2026-11-23T00:00:00Z INFO: fine\r\x1b[2J\u{202e}".into(),
        });
        let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        let (first, second) = text.split_once('\n').unwrap();
        assert!(first.ends_with("Z ERROR: failed"), "{first}");
        assert_eq!(
            second,
            "  2026-11-23T00:00:00Z INFO: fine\\u000d\\u001b[2J\\u202e\n"
        );
    }
}
