//! The questions about a machine, their answers, and the limits of what is read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One thing to read of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// What stands at a path; a link is not followed.
    Path(String),
    /// What a path leads to, through links.
    Target(String),
    /// The SHA-256 of a file's bytes, in lower-case hex; links are followed.
    Digest(String),
    /// A file's bytes, at most [`MOST_CONTENT`] of them; links are followed.
    Content(String),
    /// All that is in a folder, at any depth; links in it are not followed.
    Tree(String),
    /// What a command that changes nothing gives.
    Probe(Box<Probe>),
}

/// The most bytes of a file that are read as a fact.
pub const MAX_CONTENT_BYTES: u64 = 16 << 20;

/// The most bytes that are kept of what a probe prints.
pub const MAX_PROBE_STDOUT_BYTES: usize = 4 << 20;

/// The most bytes that are kept of what a probe complains.
pub const MAX_PROBE_STDERR_BYTES: usize = 64 << 10;

/// A command that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Probe {
    /// The text for the shell.
    pub text: String,
    /// Who runs it, where, and for how long.
    pub setting: CommandSetting,
    /// What its answer depends on.
    pub reads: Domain,
}

/// How a command is run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandSetting {
    /// The shell; `/bin/sh` if none.
    pub shell: Option<String>,
    /// The user; who acts on the machine, if none.
    pub user: Option<String>,
    /// The folder; the user's home on another machine, if none.
    pub cwd: Option<String>,
    /// Variables beside those that are there.
    pub env: Vec<(String, String)>,
    /// The permission bits that new files do not get.
    pub umask: Option<u32>,
    /// How long it may take.
    pub time_limit: Option<Duration>,
}

/// A part of a machine. What is changed in it makes what was read of it stale.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// What never changes while states are applied, such as the kind of processor.
    Fixed,
    /// Installed packages and where they come from.
    Packages,
    /// Services and whether they run.
    Services,
    /// Users and groups.
    Accounts,
    /// A path, what is below it, and the folders above it as far as they list it.
    Path(String),
    /// Anything.
    All,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactReading {
    /// Nothing stands there.
    Absent,
    /// What [`super::Fact::Path`] and [`super::Fact::Target`] give.
    Entry(FileStat),
    /// What [`super::Fact::Digest`] gives.
    Digest(String),
    /// What [`super::Fact::Content`] gives.
    Content(Vec<u8>),
    /// What [`super::Fact::Tree`] gives: paths below the folder, without a slash in front, in order.
    Tree(Vec<(String, FileStat)>),
    /// What [`super::Fact::Probe`] gives.
    Probe(ProbeOutput),
    /// It could not be read. The message says why.
    Failed(String),
}

/// What a probe gave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeOutput {
    /// The exit code, as a shell gives it for a signal; 124 if it ran too long.
    pub code: i32,
    /// What it printed, the first [`super::MOST_PRINTED`] bytes.
    pub stdout: Vec<u8>,
    /// What it complained, the first [`super::MOST_COMPLAINED`] bytes.
    pub stderr: Vec<u8>,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStat {
    /// What it is.
    pub kind: FileKind,
    /// Its permission bits, the lowest twelve.
    pub mode: u32,
    /// The name of its owner, or the number where it has no name.
    pub user: String,
    /// The name of its group, or the number where it has no name.
    pub group: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, in seconds since 1970.
    pub modified: i64,
}

/// What kind of thing stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, and what it says.
    Link(String),
    /// A named pipe, a socket or a device.
    Other,
}

impl FileStat {
    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == FileKind::Folder
    }
}

/// Why a file was not read.
pub(crate) fn read_failure_message(path: &str, why: &str) -> String {
    format!("could not read `{path}`: {why}")
}
