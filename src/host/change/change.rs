//! The changes that there are.

use std::fmt::{Debug, Formatter};

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::host::fact::{CommandSetting, Domain};
use crate::value::REDACTED;

/// One thing to change on a machine. Each is whole or has not happened: files are written beside
/// and renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Writes a file. It replaces a file; a link at the path is replaced itself.
    Write(FileWrite),
    /// Makes a folder, which may be there already.
    Folder {
        /// Where.
        path: String,
        /// Whether those above it are made too.
        parents: bool,
        /// What it is like.
        like: ModeAndOwner,
    },
    /// Makes a link. It replaces a file or another link.
    Link {
        /// Where.
        path: String,
        /// What it says, or the file it is another name of.
        target: String,
        /// Whether it is another name of the file.
        hard: bool,
        /// Who owns it.
        like: ModeAndOwner,
    },
    /// Removes a file, a link, or a folder with all that is in it. Nothing need be there.
    Remove {
        /// Where.
        path: String,
    },
    /// Sets the permission bits and owners of what is there.
    Set {
        /// Where.
        path: String,
        /// What it is to be like.
        like: ModeAndOwner,
        /// Whether what a link leads to is set, and not the link.
        follow: bool,
    },
    /// Moves something to a path at which nothing, or a file, is.
    Move {
        /// From where.
        from: String,
        /// To where.
        to: String,
    },
    /// Copies a file, or a folder with all that is in it.
    Copy {
        /// From where.
        from: String,
        /// To where.
        to: String,
        /// Whether owners, permission bits and times are those of the source.
        preserve: bool,
    },
    /// Makes an empty file where there is none, and sets its times.
    Touch {
        /// Where.
        path: String,
        /// When it was last read, in seconds since 1970; now if none.
        read: Option<i64>,
        /// When it was last written, in seconds since 1970; now if none.
        written: Option<i64>,
    },
    /// Runs a command.
    Run(CommandRun),
}

/// What a change does, and to what, as messages say it.
pub(crate) fn describe_change(change: &Change) -> (&'static str, &str) {
    match change {
        Change::Write(write) => ("write", &write.path),
        Change::Folder { path, .. } => ("make the folder", path),
        Change::Link { path, .. } => ("make the link", path),
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

/// A file that is written. What nobody may see of it is never serialized.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct FileWrite {
    /// Where.
    pub path: String,
    /// What it contains.
    pub bytes: Vec<u8>,
    /// What it is like; a file that is there keeps what is not given.
    pub like: ModeAndOwner,
    /// Whether nobody may see what it contains.
    pub secret: bool,
}

/// Permission bits and owners.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeAndOwner {
    /// The permission bits.
    pub mode: Option<u32>,
    /// The owner: a name or a number.
    pub user: Option<String>,
    /// The group: a name or a number.
    pub group: Option<String>,
}

impl ModeAndOwner {
    /// Whether nothing is asked.
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
        let mut shown = f.debug_struct("Write");
        shown.field("path", &self.path);
        if self.secret {
            shown.field("bytes", &REDACTED);
        } else {
            shown.field("bytes", &String::from_utf8_lossy(&self.bytes));
        }
        shown.field("like", &self.like).finish_non_exhaustive()
    }
}

/// A command that changes something. Of one that must not be seen, only what stands for it is
/// serialized.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct CommandRun {
    /// The text for the shell.
    pub text: String,
    /// Who runs it, where, and for how long.
    pub setting: CommandSetting,
    /// What it reads; nothing if none.
    pub stdin: Option<Vec<u8>>,
    /// What it changes.
    pub touches: Vec<Domain>,
    /// What stands for the text where people see it, if it must not be seen.
    pub shown: Option<String>,
    /// The exit codes that are no failure, beside 0.
    pub good_codes: Vec<i32>,
    /// Whether processes that it leaves behind live on.
    pub keeps_background: bool,
}

impl CommandRun {
    /// A command that may change anything, for the default shell.
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

    /// The same command, which changes only this.
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
        f.debug_struct("Run")
            .field("text", self.shown.as_ref().unwrap_or(&self.text))
            .field("touches", &self.touches)
            .finish_non_exhaustive()
    }
}
