//! The effects that expressions request, as data: changes of files, programs to run and URLs to fetch.

use std::fmt::{Debug, Formatter};
use std::path::{Path, PathBuf};

/// An effect that an expression requests.
///
/// The debug form omits commands and contents, because they may hold secrets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Runs a program in the directory of the ensemble: `pipe` and `lines`.
    Run {
        /// The program, followed by its arguments.
        command: Vec<String>,
    },
    /// Fetches the content at a URL, for `url`.
    Fetch {
        /// The URL to fetch the content from.
        url: String,
    },
    /// Writes a file and creates its directory: `file`, `tempfile` and `password`.
    WriteFile {
        /// The path of the file to write.
        path: PathBuf,
        /// The new contents of the file.
        contents: Vec<u8>,
        /// Whether other users must be unable to read the file.
        sensitive: bool,
    },
    /// Creates a directory and its parents: `abspath` and `get_dir`.
    MakeDir {
        /// The path of the directory to create.
        path: PathBuf,
    },
}

impl Effect {
    /// Returns the path of the file or folder that the effect changes. None if it changes none.
    pub fn written_path(&self) -> Option<&Path> {
        match self {
            Self::WriteFile { path, .. } | Self::MakeDir { path } => Some(path),
            Self::Run { .. } | Self::Fetch { .. } => None,
        }
    }
}

impl Debug for Effect {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Run { .. } => f.debug_struct("Run").finish_non_exhaustive(),
            Self::Fetch { .. } => f.debug_struct("Fetch").finish_non_exhaustive(),
            Self::WriteFile { path, .. } => {
                let mut shown = f.debug_struct("WriteFile");
                shown.field("path", path).finish_non_exhaustive()
            }
            Self::MakeDir { path } => f.debug_struct("MakeDir").field("path", path).finish(),
        }
    }
}

/// The result of an effect. The debug form omits the output, because it may hold secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EffectOutput {
    /// The output of a program or the content at a URL. Empty for other effects.
    pub output: Vec<u8>,
}

impl Debug for EffectOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EffectOutput").finish_non_exhaustive()
    }
}
