//! The kinds of changes to a machine.
//!
//! They are plain data: `native` makes them on the local machine, `batch` turns them into a script
//! for other locations.

use std::fmt::{Debug, Formatter};

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::host::fact::{CommandSetting, Domain};
use crate::value::REDACTED;

/// A change to a machine.
///
/// A file is written under a temporary name and then renamed, so that a change happens completely
/// or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Writes a file. It replaces an existing file; a link at the path is itself replaced.
    Write(FileWrite),
    /// Makes a folder, if it does not exist.
    Folder {
        path: String,
        /// Whether missing parent folders are made too.
        parents: bool,
        like: ModeAndOwner,
    },
    /// Makes a link. It replaces a file or another link.
    Link {
        path: String,
        /// The target of a symbolic link, or the file that a hard link gives another name.
        target: String,
        hard: bool,
        like: ModeAndOwner,
    },
    /// Removes a file, a link, or a folder with everything in it. A missing path is no failure.
    Remove { path: String },
    /// Sets the permission bits and owners of an existing path.
    Set {
        path: String,
        like: ModeAndOwner,
        /// Whether the target of a link is changed instead of the link.
        follow: bool,
    },
    /// Moves a path to one that is free or is a file.
    Move { from: String, to: String },
    /// Copies a file, or a folder with everything in it.
    Copy {
        from: String,
        to: String,
        /// Whether the copy keeps the owners, permission bits and times of the source.
        preserve: bool,
    },
    /// Creates an empty file if there is none, and sets its times.
    Touch {
        path: String,
        /// The access time in seconds since 1970; now if none.
        read: Option<i64>,
        /// The modification time in seconds since 1970; now if none.
        written: Option<i64>,
    },
    /// Runs a command that makes the change.
    Run(CommandRun),
}

/// Returns true if a file may have its mode before its content is complete and before it has its owner: everybody, or
/// nobody but its owner, may read it, only the owner may write it, and nobody may execute it.
pub(crate) fn may_begin_with(mode: u32) -> bool {
    const SPECIAL_EXECUTE_AND_WRITE: u32 = 0o7133;
    let is_same_for_all = mode & 0o004 != 0 || mode & 0o777 == mode & 0o700;
    mode & SPECIAL_EXECUTE_AND_WRITE == 0 && is_same_for_all
}

/// Returns the verb and the object of a change, for messages.
pub(crate) fn describe_change(change: &Change) -> (&'static str, &str) {
    match change {
        Change::Write(write) => ("write", &write.path),
        Change::Folder { path, .. } => ("create the folder", path),
        Change::Link { path, .. } => ("create the link", path),
        Change::Remove { path } => ("remove", path),
        Change::Set { path, .. } => ("set the owner or mode of", path),
        Change::Move { from, .. } => ("move", from),
        Change::Copy { from, .. } => ("copy", from),
        Change::Touch { path, .. } => ("touch", path),
        Change::Run(run) => ("run", run.shown.as_ref().unwrap_or(&run.text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_may_see_is_neither_serialized_nor_shown() {
        let write = FileWrite {
            path: "/etc/key".to_owned(),
            bytes: b"hunter2".to_vec(),
            like: ModeAndOwner::default(),
            secret: true,
            present_mode: None,
        };
        let mut run = CommandRun::new("login hunter2");
        run.shown = Some("login".to_owned());
        run.stdin = Some(b"hunter2".to_vec());
        run.setting.env = vec![("TOKEN".to_owned(), "hunter2".to_owned())];
        let changes = [Change::Write(write), Change::Run(run)];
        let json = serde_json::to_string(&changes).unwrap();
        assert!(!json.contains("hunter2"), "{json}");
        assert!(!json.contains("104,117,110"), "{json}");
        assert!(!format!("{changes:?}").contains("hunter2"));
        assert!(serde_json::from_str::<Vec<Change>>(&json).is_ok());
    }
}

/// A file to write. Secret contents are never serialized.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct FileWrite {
    pub path: String,
    pub bytes: Vec<u8>,
    /// The mode and owners. An existing file keeps those that are `None`.
    pub like: ModeAndOwner,
    /// Whether the contents must not be shown.
    pub secret: bool,
    /// The permission bits of the existing file when its facts were read. They only save time: the mode at the time of
    /// the change counts.
    #[serde(default)]
    pub present_mode: Option<u32>,
}

/// Permission bits and owners. `None` leaves a property as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeAndOwner {
    pub mode: Option<u32>,
    /// The owner, as a name or a number.
    pub user: Option<String>,
    /// The group, as a name or a number.
    pub group: Option<String>,
}

impl ModeAndOwner {
    /// Whether neither the mode nor an owner is set.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }
}

impl Serialize for FileWrite {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: &[u8] = if self.secret { &[] } else { &self.bytes };
        let mut fields = serializer.serialize_struct("Write", 4)?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("bytes", bytes)?;
        fields.serialize_field("like", &self.like)?;
        fields.serialize_field("secret", &self.secret)?;
        fields.end()
    }
}

impl Debug for FileWrite {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("FileWrite");
        shown.field("path", &self.path);
        if self.secret {
            shown.field("bytes", &REDACTED);
        } else {
            shown.field("bytes", &String::from_utf8_lossy(&self.bytes));
        }
        shown.field("like", &self.like).finish_non_exhaustive()
    }
}

/// A command that changes something.
///
/// If the text is secret, only its replacement `shown` is serialized.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct CommandRun {
    pub text: String,
    /// The user, working directory, time limit and so on.
    pub setting: CommandSetting,
    /// The standard input; empty if none.
    pub stdin: Option<Vec<u8>>,
    /// The parts of the machine that the command may change.
    pub touches: Vec<Domain>,
    /// The replacement for a secret text wherever people see the command.
    pub shown: Option<String>,
    /// The exit codes that count as success, besides 0.
    pub good_codes: Vec<i32>,
    /// Whether processes that the command leaves behind live on.
    pub keeps_background: bool,
}

impl CommandRun {
    /// Creates a command for the default shell that may change anything.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            setting: CommandSetting::default(),
            stdin: None,
            touches: vec![Domain::All],
            shown: None,
            good_codes: Vec::new(),
            keeps_background: false,
        }
    }

    /// Restricts what the command may change to these domains.
    #[must_use]
    pub fn touching(mut self, touches: impl IntoIterator<Item = Domain>) -> Self {
        self.touches = touches.into_iter().collect();
        self
    }
}

impl Serialize for CommandRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut setting = self.setting.clone();
        if self.shown.is_some() {
            for (_, value) in &mut setting.env {
                REDACTED.clone_into(value);
            }
        }
        let stdin = self.stdin.as_ref().filter(|_| self.shown.is_none());
        let mut fields = serializer.serialize_struct("Run", 7)?;
        fields.serialize_field("text", self.shown.as_ref().unwrap_or(&self.text))?;
        fields.serialize_field("setting", &setting)?;
        fields.serialize_field("stdin", &stdin)?;
        fields.serialize_field("touches", &self.touches)?;
        fields.serialize_field("shown", &self.shown)?;
        fields.serialize_field("good_codes", &self.good_codes)?;
        fields.serialize_field("keeps_background", &self.keeps_background)?;
        fields.end()
    }
}

impl Debug for CommandRun {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandRun")
            .field("text", self.shown.as_ref().unwrap_or(&self.text))
            .field("touches", &self.touches)
            .finish_non_exhaustive()
    }
}
