//! The errors of the traits through which expressions see this machine.

use std::error::Error;
use std::sync::Arc;

/// Why a file or folder cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// Nothing may be read; the text says why.
    #[error("{0}")]
    Refused(&'static str),
    /// `get_dir` knows no directory of this name.
    #[error("there is no location `{0}`")]
    UnknownLocation(String),
    /// The system cannot read it.
    #[error("{0}")]
    System(Arc<dyn Error + Send + Sync>),
}

impl ReadError {
    /// An error of the system.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::System(Arc::new(error))
    }
}

/// Why an effect was not performed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EffectError {
    /// Nothing may be changed; the text says why.
    #[error("{0}")]
    Refused(&'static str),
    /// A program printed more than is kept.
    #[error("the program printed too much")]
    TooMuchOutput,
    /// A program failed.
    #[error("the program ended with {code}: {output}")]
    Exited {
        /// The exit code of the program.
        code: i32,
        /// Its messages.
        output: String,
    },
    /// The system cannot do it.
    #[error("{0}")]
    System(Arc<dyn Error + Send + Sync>),
}

impl EffectError {
    /// An error of the system.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::System(Arc::new(error))
    }
}

/// Why a text is no YAML, or a value cannot be written as YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct YamlError(pub String);
