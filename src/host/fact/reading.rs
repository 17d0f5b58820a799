//! The answers to facts.

use serde::{Deserialize, Serialize};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// Nothing stands there.
    Absent,
    /// What [`super::Fact::Path`] and [`super::Fact::Target`] give.
    Entry(Entry),
    /// What [`super::Fact::Digest`] gives.
    Digest(String),
    /// What [`super::Fact::Content`] gives.
    Content(Vec<u8>),
    /// What [`super::Fact::Tree`] gives: paths below the folder, without a slash in front, in order.
    Tree(Vec<(String, Entry)>),
    /// What [`super::Fact::Probe`] gives.
    Probe(Probed),
    /// It could not be read. The message says why.
    Failed(String),
}

/// What a probe gave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// The exit code, as a shell gives it for a signal; 124 if it ran too long.
    pub code: i32,
    /// What it printed, the first [`super::MOST_PRINTED`] bytes.
    pub stdout: Vec<u8>,
    /// What it complained, the first [`super::MOST_COMPLAINED`] bytes.
    pub stderr: Vec<u8>,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
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
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, and what it says.
    Link(String),
    /// A named pipe, a socket or a device.
    Other,
}

impl Entry {
    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == EntryKind::Folder
    }
}

/// Why a file was not read.
pub(crate) fn not_read(path: &str, why: &str) -> String {
    format!("could not read `{path}`: {why}")
}
