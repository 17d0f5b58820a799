//! The parts of this machine that expressions see: its files, its environment, its time, its chance
//! and the reading of YAML.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::value::{Map, Value};

use super::effects::Effects;
use super::error::{ReadError, YamlError};

/// For whom an expression is evaluated: decides where `get_dir` leads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DirectoryOwner {
    /// The name of the instance whose directories are meant.
    pub instance: Option<Arc<str>>,
    /// The operation of the task that evaluates, if there is one.
    pub operation: Option<Arc<str>>,
}

/// Reads files and folders of this machine, within bounds. Changes nothing.
pub trait ReadFiles {
    /// The contents of a file, or why there are none.
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError>;

    /// Whether there is something at a path.
    fn exists(&self, path: &Path) -> bool;

    /// Whether there is a directory at a path.
    fn is_dir(&self, path: &Path) -> bool;

    /// Whether a path is a link, whatever it leads to.
    fn is_link(&self, path: &Path) -> bool;

    /// Whether another file system begins at a path.
    fn is_mount(&self, path: &Path) -> bool;

    /// The entries of a directory, sorted.
    fn list(&self, path: &Path) -> Result<Vec<PathBuf>, ReadError>;

    /// The path with all links followed; the path itself if it leads nowhere.
    fn real_path(&self, path: &Path) -> PathBuf;

    /// The path of a program.
    fn which(&self, name: &str) -> Option<PathBuf>;

    /// The path of a named directory (`get_dir`) for a place; the directory need not exist.
    fn directory(&self, place: &DirectoryOwner, location: &str) -> Result<PathBuf, ReadError>;

    /// The text that stands for a path in upstream's digests: the id of its tree in git, or the
    /// contents of its files.
    fn tree_digest(&self, path: &Path) -> Option<String>;

    /// The text that stands for a path in our digests: the contents of its files, whether they are
    /// committed or not, those apart that git ignores.
    fn content_digest(&self, path: &Path) -> Option<String>;
}

/// Gives the variables and settings of the environment. Nothing here changes during a job.
pub trait ReadEnvironment {
    /// A variable of the environment.
    fn env(&self, name: &str) -> Option<String>;

    /// All variables of the environment.
    fn env_all(&self) -> Vec<(String, String)>;

    /// A value from the `local` or `secret` section of the environment.
    fn context_value(&self, section: &str, name: &str) -> Option<Value>;

    /// The value of `get_ensemble_metadata`.
    fn metadata(&self) -> Map;

    /// Whether an expression may go beyond reading the project: `pipe`, `url` and the like.
    fn permits(&self, name: &str) -> bool;

    /// The folder of temporary files.
    fn temp_dir(&self) -> PathBuf;
}

/// Tells the time.
pub trait Clock {
    /// The time now.
    fn now(&self) -> jiff::Timestamp;
}

impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now(&self) -> jiff::Timestamp {
        T::now(self)
    }
}

/// Gives random bytes.
pub trait Random {
    /// Fills the buffer with bytes that nobody can guess.
    fn random(&self, bytes: &mut [u8]);
}

impl<T: Random + ?Sized> Random for Arc<T> {
    fn random(&self, bytes: &mut [u8]) {
        T::random(self, bytes);
    }
}

/// Reads and writes YAML.
pub trait Yaml {
    /// The value that a YAML text holds.
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError>;

    /// A value as YAML.
    fn to_yaml(&self, value: &Value) -> Result<String, YamlError>;
}

impl<T: Yaml + ?Sized> Yaml for Arc<T> {
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError> {
        T::parse_yaml(self, text)
    }

    fn to_yaml(&self, value: &Value) -> Result<String, YamlError> {
        T::to_yaml(self, value)
    }
}

/// A value as JSON, which is YAML too.
pub fn json_as_yaml(value: &Value) -> Result<String, YamlError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| YamlError(error.to_string()))
}

/// The part of this machine that an evaluation sees: it reads, and changes nothing.
pub trait LocalContext: ReadFiles + ReadEnvironment + Clock + Random + Yaml + Send + Sync {}

impl<T: ReadFiles + ReadEnvironment + Clock + Random + Yaml + Send + Sync + ?Sized> LocalContext
    for T
{
}

/// This machine: each type that implements the parts implements the whole.
pub trait SystemContext: LocalContext + Effects {}

impl<T: LocalContext + Effects + ?Sized> SystemContext for T {}
