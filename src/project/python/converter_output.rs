//! The output of the converter script, and the failures of a conversion.
//!
//! `convert.py` prints a [`ConverterOutput`] as JSON. `failure_report.rs` turns a [`ConversionFailure`] into
//! messages.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::sandbox::SandboxError;
use crate::system::process;

/// The parsed output of `convert.py`. The fields that are set show how the conversion ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConverterOutput {
    /// The service template as YAML, if the conversion succeeded.
    pub(super) yaml: Option<String>,
    /// The other files that the result depends on.
    pub(super) files: Vec<FileDigest>,
    /// The installation path of the converting package, which changes with its version.
    pub(super) package: String,
    /// The warnings that the package printed.
    pub(super) warnings: Vec<String>,
    /// The name of a required package that is not installed.
    pub(super) missing: Option<String>,
    /// The reason why the installed packages cannot be used.
    pub(super) unusable: Option<String>,
    /// The errors in the user's file.
    pub(super) faults: Vec<PythonException>,
}

/// A file with the SHA-256 of its content. The digest is `None` if the file does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileDigest(pub(super) PathBuf, pub(super) Option<String>);

/// An exception that the file raised, or its use of a forbidden language feature.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::project) struct PythonException {
    /// The name of the exception's type.
    pub(super) kind: String,
    pub(super) message: String,
    /// The user's file that raised the exception, if it is known.
    pub(super) file: Option<PathBuf>,
    /// The line in the file, counted from 1.
    pub(super) line: Option<usize>,
    /// The character in the line, counted from 1.
    pub(super) column: Option<usize>,
}

/// The reason why a file was not converted.
#[derive(Debug)]
pub(in crate::project) enum ConversionFailure {
    /// The user does not permit `python`.
    NotPermitted,
    /// The file is in an archive, which Python cannot read.
    InArchive,
    /// No Python interpreter was found on the `PATH`.
    NoPython,
    /// A required package is not installed.
    MissingPackage { package: String, python: PathBuf },
    /// The installed packages do not work with this interpreter.
    UnusablePackages { message: String, python: PathBuf },
    /// The file raised exceptions, or uses forbidden language features.
    Exceptions(Vec<PythonException>),
    /// The conversion exceeded the time limit.
    TimedOut(Duration),
    /// The output exceeded its maximum size.
    OutputTooLarge,
    /// The converter ended without any output.
    NoOutput { code: i32, last_error_line: String },
    /// The interpreter could not be started, or its output not read.
    StartFailed(process::Error),
    /// The environment variable for the time limit has an invalid value.
    InvalidTimeLimit(String),
}

impl From<SandboxError> for ConversionFailure {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::InvalidTimeLimit(text) => Self::InvalidTimeLimit(text),
            SandboxError::TimedOut(limit) => Self::TimedOut(limit),
            SandboxError::OutputTooLarge => Self::OutputTooLarge,
            SandboxError::StartFailed(error) => Self::StartFailed(error),
        }
    }
}
