//! The errors of the ports through which expressions access this machine.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use crate::text::format_size;

/// The reason why a file or directory cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// No file may be read in this context; the text states why.
    #[error("{0}")]
    Refused(&'static str),
    /// A path that the project must not read.
    #[error("the path lies outside of the project, or in a folder `.git`; {help}")]
    Outside {
        /// How the user can allow the read.
        help: String,
    },
    /// A file that is larger than the limit.
    #[error("the file is larger than {}; raise the limit with `--max-value`", format_size(*limit as u64))]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A directory name that `get_dir` does not know.
    #[error("the location `{0}` is not known")]
    UnknownLocation(String),
    /// An encrypted file that cannot be decrypted; the text states why.
    #[error("{0}")]
    Closed(String),
    /// The error that the operating system returned.
    #[error("{0}")]
    System(Arc<dyn Error + Send + Sync>),
}

impl ReadError {
    /// Wraps an error of the operating system.
    pub fn from_system(error: impl Error + Send + Sync + 'static) -> Self {
        Self::System(Arc::new(error))
    }
}

/// The system provides no random numbers, so nothing that must be hard to guess can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the system provides no random numbers: {0}")]
pub struct RandomError(pub String);

/// The reason why an effect was not performed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EffectError {
    /// No effect is possible in this context; the text states why.
    #[error("{0}")]
    Refused(&'static str),
    /// A path at which expressions must not write.
    #[error("expressions must not write to `{}`: {reason}", path.display())]
    Misplaced {
        /// The path of the file or folder.
        path: PathBuf,
        /// The reason, with the places that are allowed.
        reason: String,
    },
    /// A program whose output exceeds the limit.
    #[error("the output of the program exceeds the limit")]
    TooMuchOutput,
    /// A program that ended with an error.
    #[error("the program failed with exit code {code}: {output}")]
    Exited {
        /// The exit code of the program.
        code: i32,
        /// The error output of the program.
        output: String,
    },
    /// The error that the operating system returned.
    #[error("{0}")]
    System(Arc<dyn Error + Send + Sync>),
}

impl EffectError {
    /// Wraps an error of the operating system.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::System(Arc::new(error))
    }
}

/// The reason why a text is not YAML, or why a value cannot be written as YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct YamlError(pub String);
