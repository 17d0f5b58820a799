//! The changes, programs and connections that expressions ask for, as data.

use std::fmt::{Debug, Formatter};
use std::path::PathBuf;

use super::error::EffectError;

/// An effect that an expression asks for. Its debug form shows no commands and no contents: they
/// may hold secrets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Runs a program in the folder of the ensemble: `pipe` and `lines`.
    Run {
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// Gets what is at a URL: `url`.
    Fetch {
        /// The URL.
        url: String,
    },
    /// Writes a file, its directory included: `file`, `tempfile` and `password`.
    WriteFile {
        /// The path of the file.
        path: PathBuf,
        /// The new contents of the file.
        contents: Vec<u8>,
        /// Whether other users must not read the file.
        sensitive: bool,
    },
    /// Makes a directory and those above it: `abspath` and `get_dir`.
    MakeDir {
        /// The path of the directory.
        path: PathBuf,
    },
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

/// The result of an effect that was performed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EffectOutput {
    /// The output of a program, or the contents at a URL; nothing for other effects.
    pub output: Vec<u8>,
}

impl Debug for EffectOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

/// Performs the effects of expressions.
pub trait Effects {
    /// Performs an effect, which was allowed.
    fn perform(&self, effect: &Effect) -> Result<EffectOutput, EffectError>;
}
