//! The changes that there are.

use serde::{Deserialize, Serialize};

use super::run::Run;
use super::write::{Like, Write};

/// One thing to change on a machine. Each is whole or has not happened: files are written beside
/// and renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Writes a file. It replaces a file; a link at the path is replaced itself.
    Write(Write),
    /// Makes a folder, which may be there already.
    Folder {
        /// Where.
        path: String,
        /// Whether those above it are made too.
        parents: bool,
        /// What it is like.
        like: Like,
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
        like: Like,
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
        like: Like,
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
    Run(Run),
}

/// What a change does, and to what, as messages say it.
pub(crate) fn subject(change: &Change) -> (&'static str, &str) {
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
        let write = Write {
            path: "/etc/key".to_owned(),
            bytes: b"hunter2".to_vec(),
            like: Like::default(),
            secret: true,
        };
        let mut run = Run::new("login hunter2");
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
