//! Facts to read from a machine, their readings, and the size limits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A fact to read from a machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// The entry at a path. A link is not followed.
    Path(String),
    /// The entry that a path leads to through links.
    Target(String),
    /// The SHA-256 of a file in lower-case hex. Links are followed.
    Digest(String),
    /// The bytes of a file, at most [`MAX_CONTENT_BYTES`]. Links are followed.
    Content(String),
    /// The entries of a folder at any depth. Links in it are not followed.
    Tree(String),
    /// The output of a command that changes nothing.
    Probe(Box<Probe>),
}

/// The maximum number of bytes read from a file as a fact.
pub const MAX_CONTENT_BYTES: u64 = 16 << 20;

/// The maximum number of bytes kept of a probe's stdout.
pub const MAX_PROBE_STDOUT_BYTES: usize = 4 << 20;

/// The maximum number of bytes kept of a probe's stderr.
pub const MAX_PROBE_STDERR_BYTES: usize = 64 << 10;

/// A command that reads something and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Probe {
    pub text: String,
    /// The user, working directory, time limit and so on.
    pub setting: CommandSetting,
    /// The part of the machine that the output depends on.
    pub reads: Domain,
}

/// The user, the environment and the limits of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandSetting {
    /// The shell that runs the script; `/bin/sh` if none.
    pub shell: Option<String>,
    /// The user to run as; if none, the user who is logged in.
    pub user: Option<String>,
    /// The working directory; if none, the user's home on another machine.
    pub cwd: Option<String>,
    /// Variables in addition to the existing ones.
    pub env: Vec<(String, String)>,
    /// The permission bits that new files do not get.
    pub umask: Option<u32>,
    pub time_limit: Option<Duration>,
}

/// A part of a machine. A change in a domain makes the facts read from it stale.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// Properties that never change while states are applied, such as the processor type.
    Fixed,
    /// The installed packages and their repositories.
    Packages,
    /// The services and whether they run.
    Services,
    Accounts,
    /// A path, the tree below it, and the listings of its parent folders.
    Path(String),
    /// A folder that is created or gets attributes, and the listings of its parent folders. A new folder is empty.
    Folder(String),
    All,
}

/// The reading of a fact, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactReading {
    /// No entry exists at the path.
    Absent,
    /// The value of [`super::Fact::Path`] or [`super::Fact::Target`].
    Entry(FileStat),
    /// The digest for [`super::Fact::Digest`], in lower-case hex.
    Digest(String),
    /// The bytes for [`super::Fact::Content`], possibly not the whole file.
    Content(Vec<u8>),
    /// The value of [`super::Fact::Tree`]: sorted paths relative to the folder, without a leading
    /// slash.
    Tree(Vec<(String, FileStat)>),
    /// The result for [`super::Fact::Probe`], whatever its exit code.
    Probe(ProbeOutput),
    /// The fact could not be read, for the reason in the message.
    Failed(String),
}

/// The exit code and output of a probe.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeOutput {
    /// The exit code; 128 plus the number for a signal, as in a shell, and 124 for a timeout.
    pub code: i32,
    /// The first [`super::MAX_PROBE_STDOUT_BYTES`] bytes of stdout.
    pub stdout: Vec<u8>,
    /// The first [`super::MAX_PROBE_STDERR_BYTES`] bytes of stderr.
    pub stderr: Vec<u8>,
}

/// The metadata of a file, folder, link or other entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStat {
    pub kind: FileKind,
    /// The lowest twelve bits of the mode.
    pub mode: u32,
    /// The owner's name, or the number if it has no name.
    pub user: String,
    /// The group's name, or the number if it has no name.
    pub group: String,
    pub size: u64,
    /// The modification time in seconds since 1970.
    pub modified: i64,
}

/// The kind of a directory entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    File,
    Folder,
    /// A symbolic link with its target.
    Link(String),
    /// A named pipe, a socket or a device.
    Other,
}

impl FileStat {
    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    pub fn is_folder(&self) -> bool {
        self.kind == FileKind::Folder
    }
}

/// Returns the message for a file that could not be read.
pub(crate) fn read_failure_message(path: &str, why: &str) -> String {
    format!("could not read `{path}`: {why}")
}
