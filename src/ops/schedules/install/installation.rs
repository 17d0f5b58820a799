//! An installation: the request, the files that change, and the commands that remain for the user.

use std::path::PathBuf;

/// The program that runs the schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallTarget {
    Cron,
    /// Timers of systemd: those of the system, or those of the user.
    Systemd {
        is_system: bool,
    },
}

/// A request to install or to remove.
#[derive(Debug, Clone, Copy)]
pub struct InstallRequest {
    pub target: InstallTarget,
    /// Nothing is written.
    pub is_dry_run: bool,
}

/// The files of an installation, and the commands to run after it.
#[derive(Debug, Clone, Default)]
pub struct Installation {
    pub files: Vec<FileChange>,
    /// The commands that make systemd read the files. Empty if nothing remains to be done.
    pub commands: Vec<String>,
}

/// A file of an installation.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// The path; None for the user's crontab.
    pub path: Option<PathBuf>,
    pub state: FileState,
    /// The new content; of a crontab, the block only.
    pub text: String,
}

/// The change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    Written,
    Removed,
    Unchanged,
}

impl FileState {
    /// Returns the word for the change.
    pub fn word(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Removed => "removed",
            Self::Unchanged => "unchanged",
        }
    }
}
