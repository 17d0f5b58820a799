//! The parts of this machine that expressions read: files, environment, clock, random source and YAML.
//! [`LocalContext`] combines the read-only traits; [`SystemContext`] adds the effects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::value::{Map, Value};

use super::effects::Effects;
use super::error::{RandomError, ReadError, YamlError};
use super::secrets::VaultPassword;

/// The answer of a context without encryption.
const NO_VAULT: &str = "only templates of an ensemble can encrypt and decrypt";

/// The owner of an evaluation, for which `get_dir` resolves named directories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DirectoryOwner {
    /// The name of the instance whose directories are used.
    pub instance: Option<Arc<str>>,
    /// The operation of the task that evaluates the expression, if any.
    pub operation: Option<Arc<str>>,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    /// True if the file is encrypted, so that its content must not be shown.
    pub is_secret: bool,
}

impl FileContent {
    /// Returns the content of a file that is not encrypted.
    pub fn plain(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            is_secret: false,
        }
    }
}

/// Reads files and directories of this machine within the limits of the implementation. Changes nothing.
pub trait ReadFiles {
    /// Returns an error if the path is one that the project must not read. Asks only where the path leads.
    fn check_read(&self, path: &Path) -> Result<(), ReadError>;

    /// Returns the contents of a file.
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError>;

    /// Returns the contents of a file, decrypted if the file is encrypted as a whole.
    fn read_decrypted(&self, path: &Path) -> Result<FileContent, ReadError> {
        self.read(path).map(FileContent::plain)
    }

    /// Whether a path exists on this machine. This and the following questions are answered with no for a
    /// path that the project must not read.
    fn exists(&self, path: &Path) -> bool;

    /// Whether a path exists and is a directory.
    fn is_dir(&self, path: &Path) -> bool;

    /// Whether a path is a symbolic link, even a broken one.
    fn is_link(&self, path: &Path) -> bool;

    /// Whether a path is the mount point of another file system.
    fn is_mount(&self, path: &Path) -> bool;

    /// Returns the paths of a directory's entries, sorted.
    fn list(&self, path: &Path) -> Result<Vec<PathBuf>, ReadError>;

    /// Returns the path with symbolic links resolved, or the path itself if it does not exist.
    fn real_path(&self, path: &Path) -> PathBuf;

    /// Returns the path of a program on the search path.
    fn which(&self, name: &str) -> Option<PathBuf>;

    /// Returns the path of a named directory (`get_dir`) for an owner. The directory need not exist.
    fn directory(&self, owner: &DirectoryOwner, location: &str) -> Result<PathBuf, ReadError>;

    /// Returns the text that represents a path in Unfurl's digests: the id of its git tree, or the contents
    /// of its files.
    fn tree_digest(&self, path: &Path) -> Option<String>;

    /// Returns the text that represents a path in this program's own digests.
    ///
    /// The text depends on the contents of the files, committed or not, but not on files that git ignores.
    fn content_digest(&self, path: &Path) -> Option<String>;
}

/// Provides the variables and settings of the environment, which stay constant during a job.
pub trait ReadEnvironment {
    /// Returns the value of an environment variable.
    fn env(&self, name: &str) -> Option<String>;

    /// Returns true if the value of an environment variable is secret.
    fn is_secret_variable(&self, _name: &str) -> bool {
        false
    }

    /// Returns the environment variables with their values.
    fn env_all(&self) -> Vec<(String, String)>;

    /// Returns a value from the `local` or `secret` section of the Unfurl environment.
    fn context_value(&self, section: &str, name: &str) -> Option<Value>;

    /// Returns the map that `get_ensemble_metadata` gives.
    fn metadata(&self) -> Map;

    /// Whether the user allowed a lookup or function that does more than read the project, such as `pipe` or
    /// `url`.
    fn permits(&self, name: &str) -> bool;

    /// Whether the user allowed by name that results of commands are evaluated like the texts of the model.
    /// A trusted project alone does not allow this.
    fn evaluates_results(&self) -> bool {
        false
    }

    /// Decrypts a tagged value of a YAML text, such as one with `!vault`. None if the tag means no encryption.
    ///
    /// `path` is the place of the value in its text. The errors are a reason and a hint.
    fn decrypt(
        &self,
        _tag: &str,
        _text: &str,
        _path: &str,
    ) -> Option<Result<Value, (String, Option<String>)>> {
        None
    }

    /// Encrypts bytes in the format of Ansible Vault. Without a salt, a random one is used.
    ///
    /// # Errors
    ///
    /// The text says why nothing can be encrypted here.
    fn seal_vault(
        &self,
        _clear: &[u8],
        _id: &str,
        _password: &str,
        _salt: Option<&[u8]>,
    ) -> Result<String, String> {
        Err(NO_VAULT.to_owned())
    }

    /// Decrypts a text of Ansible Vault with a password.
    ///
    /// # Errors
    ///
    /// The text says why the text cannot be decrypted.
    fn open_vault(&self, _text: &str, _password: &str) -> Result<Vec<u8>, String> {
        Err(NO_VAULT.to_owned())
    }

    /// Returns the passwords of the vaults of the project, the one that encrypts first.
    fn vault_passwords(&self) -> Vec<VaultPassword> {
        Vec::new()
    }

    /// Returns the directory for temporary files of the job. The directory is created with its first file.
    fn temp_dir(&self) -> PathBuf;
}

/// The clock from which expressions read the time.
pub trait Clock {
    /// Returns the current time in UTC.
    fn now(&self) -> jiff::Timestamp;
}

impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now(&self) -> jiff::Timestamp {
        T::now(self)
    }
}

/// A source of random bytes for expressions and templates.
pub trait Random {
    /// Fills the buffer with cryptographically secure random bytes.
    ///
    /// # Errors
    ///
    /// The system provides none. Bytes of another source could be guessed.
    fn random(&self, bytes: &mut [u8]) -> Result<(), RandomError>;
}

impl<T: Random + ?Sized> Random for Arc<T> {
    fn random(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        T::random(self, bytes)
    }
}

/// A parser and writer of YAML.
pub trait Yaml {
    /// Parses a YAML text into a value.
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError>;

    /// Writes a value as YAML text.
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

/// Writes a value as JSON, which is also valid YAML.
pub fn json_as_yaml(value: &Value) -> Result<String, YamlError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| YamlError(error.to_string()))
}

/// The read-only part of this machine that an evaluation sees.
pub trait LocalContext: ReadFiles + ReadEnvironment + Clock + Random + Yaml + Send + Sync {}

impl<T: ReadFiles + ReadEnvironment + Clock + Random + Yaml + Send + Sync + ?Sized> LocalContext
    for T
{
}

/// The machine as an evaluation uses it: the read-only part and the effects. Each type that implements the
/// parts implements the whole.
pub trait SystemContext: LocalContext + Effects {}

impl<T: LocalContext + Effects + ?Sized> SystemContext for T {}
