//! What the converter answers, and what can go wrong on the way.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::system::process;

/// The answer of `convert.py`; which parts are there tells how it went.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConverterOutput {
    /// The service template as YAML.
    pub(super) yaml: Option<String>,
    /// The other files that it depends on.
    pub(super) files: Vec<FileDigest>,
    /// Where the package that converted it is installed; changes with its version.
    pub(super) package: String,
    /// What the package warned of.
    pub(super) warnings: Vec<String>,
    /// A package that is not installed.
    pub(super) missing: Option<String>,
    /// Why the packages cannot be used.
    pub(super) unusable: Option<String>,
    /// What is wrong with the file.
    pub(super) faults: Vec<PythonException>,
}

/// A file and the SHA-256 of its bytes; none if there is no such file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileDigest(pub(super) PathBuf, pub(super) Option<String>);

/// An exception that the file raised, or a part of the language that it may not use.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::project) struct PythonException {
    /// The exception's type.
    pub(super) kind: String,
    /// What it says.
    pub(super) message: String,
    /// The file of the user's in which it was raised, if that is known.
    pub(super) file: Option<PathBuf>,
    /// Its line, from 1.
    pub(super) line: Option<usize>,
    /// The character in that line, from 1.
    pub(super) column: Option<usize>,
}

/// Why a file was not converted.
#[derive(Debug)]
pub(in crate::project) enum ConversionFailure {
    /// The user does not permit it.
    NotPermitted,
    /// It is in an archive, where Python does not find it.
    InArchive,
    /// There is no Python.
    NoPython,
    /// A package is not installed.
    MissingPackage { package: String, python: PathBuf },
    /// The packages cannot be used.
    UnusablePackages { message: String, python: PathBuf },
    /// The file has faults.
    Exceptions(Vec<PythonException>),
    /// It ran too long.
    TimedOut(Duration),
    /// What came of it is too long.
    OutputTooLarge,
    /// The converter ended without an answer.
    NoOutput { code: i32, complaint: String },
    /// The converter could not be run.
    StartFailed(process::Error),
    /// The variable with the time limit has a value that is none.
    InvalidTimeLimit(String),
}
