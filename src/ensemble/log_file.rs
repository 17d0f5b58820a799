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
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    file: Option<fs::Appender>,
    is_permanent: bool,
}

impl LogFile {
    /// Opens the log at the path that the user chose, which stays, or at a temporary path.
    ///
    /// # Errors
    ///
    /// The file at the user's path cannot be written.
    pub(crate) fn open(own: Option<&Path>) -> Result<Self, fs::Error> {
        let name = format!("{TEMPORARY_START}{}{TEMPORARY_END}", ulid::Ulid::generate());
        let path = own.map_or_else(|| env::temporary_dir().join(name), Path::to_path_buf);
        // The log contains the output of tasks, so other users must not read it.
        let file = match fs::Appender::open(&path, fs::SECRET_MODE) {
            Ok(file) => {
                file.lock();
                Some(file)
            }
            Err(error) if own.is_some() => return Err(error),
            // The user did not request the temporary log, so its failure must not fail the job.
            Err(_) => None,
        };
        Ok(Self {
            path,
            file,
            is_permanent: own.is_some(),
        })
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
        if let Some(file) = &mut self.file {
            let time = clock::now().strftime("%Y-%m-%dT%H:%M:%SZ");
            // A log that cannot be written must not stop the job.
            let text = escape_controls(text).replace('\n', "\n  ");
            file.append(format!("{time} {level}: {text}\n").as_bytes())
                .ok();
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
                self.line("INFO", &text);
            }
            JobEvent::JobFinished { id, status } => {
                self.line("INFO", &format!("job {id} has ended: {status}"));
            }
            JobEvent::TaskAmended(_)
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

    /// Moves a temporary log to `<base>/<folder>/<name>.log`. `base` is the ensemble's folder.
    pub(crate) fn move_to(mut self, base: &Path, folder: &str, name: &str) {
        if let Some(file) = &mut self.file {
            file.sync().ok();
        }
        if self.is_permanent || self.file.is_none() {
            return;
        }
        let target = Path::new(folder).join(format!("{name}.log"));
        let moved = fs::read(&self.path).and_then(|bytes| {
            Beneath::open(base)?.write_plain(&target, &bytes, Some(fs::SECRET_MODE))
        });
        // If the log cannot be moved, the temporary file is kept.
        self.is_permanent = moved.is_err();
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        if !self.is_permanent {
            fs::remove_file_if_exists(&self.path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::LogLevel;

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
