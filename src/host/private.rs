//! Work on files that only this user may read: those of a private folder in memory, and those of an ensemble that hold
//! secrets.

use std::fmt::{Debug, Formatter};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Work on private files of this machine. The steps run in order until the first failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateWork {
    /// The name of the private folder, which lies on a file system in memory.
    pub folder: String,
    /// The folder of the ensemble. Paths of [`PrivateStep::Keep`] and others are relative to it.
    pub base: PathBuf,
    pub steps: Vec<PrivateStep>,
}

/// A step of private work. [`Debug`] shows no contents.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrivateStep {
    /// Creates the private folder. Fails if it exists.
    Create,
    /// Writes a file of the private folder.
    Write {
        file: String,
        #[serde(skip)]
        bytes: Vec<u8>,
    },
    /// Reads a file of the private folder.
    Read { file: String },
    /// Removes a file of the private folder, if there is one.
    Discard { file: String },
    /// Removes the private folder with everything in it.
    Remove,
    /// Reads a file of the ensemble.
    Load { path: PathBuf },
    /// Replaces a file of the ensemble atomically and durably. Missing folders are made.
    Keep {
        path: PathBuf,
        #[serde(skip)]
        bytes: Vec<u8>,
        mode: u32,
    },
    /// Removes a file of the ensemble, if there is one.
    Drop { path: PathBuf },
    /// Makes a folder of the ensemble, if there is none.
    Folder { path: PathBuf },
}

impl Debug for PrivateStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Create => f.write_str("Create"),
            Self::Write { file, .. } => write!(f, "Write({file:?})"),
            Self::Read { file } => write!(f, "Read({file:?})"),
            Self::Discard { file } => write!(f, "Discard({file:?})"),
            Self::Remove => f.write_str("Remove"),
            Self::Load { path } => write!(f, "Load({path:?})"),
            Self::Keep { path, .. } => write!(f, "Keep({path:?})"),
            Self::Drop { path } => write!(f, "Drop({path:?})"),
            Self::Folder { path } => write!(f, "Folder({path:?})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_debug_texts_nor_json_show_contents() {
        let bytes = b"hunter2".to_vec();
        let write = PrivateStep::Write {
            file: "a".to_owned(),
            bytes: bytes.clone(),
        };
        let keep = PrivateStep::Keep {
            path: "b".into(),
            bytes,
            mode: 0o600,
        };
        let work = PrivateWork {
            steps: vec![write, keep],
            ..PrivateWork::default()
        };
        let json = serde_json::to_string(&work).unwrap();
        for shown in [format!("{work:?}"), format!("{work:#?}"), json] {
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(!shown.contains("104"), "{shown}");
        }
    }
}
