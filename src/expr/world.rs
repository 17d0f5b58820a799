//! What expressions may read of the world, and the few things they may write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::value::{Map, Value};

/// For whom an expression is evaluated: decides where `get_dir` leads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The name of the instance whose directories are meant.
    pub instance: Option<Arc<str>>,
    /// The operation of the task that evaluates, if there is one.
    pub operation: Option<Arc<str>>,
}

/// Bounded local reads, and writes of files that expressions ask for.
pub trait World: Send + Sync {
    /// A variable of the environment.
    fn env(&self, name: &str) -> Option<String>;

    /// All variables of the environment.
    fn env_all(&self) -> Vec<(String, String)>;

    /// The contents of a file, or why there are none.
    fn read(&self, path: &Path) -> Result<Vec<u8>, String>;

    /// Whether there is something at a path.
    fn exists(&self, path: &Path) -> bool;

    /// Whether there is a directory at a path.
    fn is_dir(&self, path: &Path) -> bool;

    /// The entries of a directory, sorted.
    fn list(&self, path: &Path) -> Result<Vec<PathBuf>, String>;

    /// Writes a file, its directory included. What is sensitive is not for other users' eyes.
    fn write(&self, path: &Path, contents: &[u8], sensitive: bool) -> Result<(), String>;

    /// Makes a directory and those above it.
    fn make_dir(&self, path: &Path) -> Result<(), String>;

    /// Where a named directory (`get_dir`) is for a place.
    fn directory(&self, place: &Place, location: &str, create: bool) -> Result<PathBuf, String>;

    /// The path of a program.
    fn which(&self, name: &str) -> Option<PathBuf>;

    /// The time now.
    fn now(&self) -> jiff::Timestamp;

    /// What a YAML text holds.
    fn parse_yaml(&self, text: &str) -> Result<Value, String>;

    /// A value as YAML; the default is JSON, which is YAML too.
    fn to_yaml(&self, value: &Value) -> Result<String, String> {
        serde_json::to_string_pretty(value)
            .map(|text| text + "\n")
            .map_err(|error| error.to_string())
    }

    /// What stands for a path in upstream's digests: the id of its tree in git, or what its files
    /// hold.
    fn tree_digest(&self, path: &Path) -> Option<String>;

    /// What stands for a path in our digests: what its files hold, whether they are committed or
    /// not, those apart that git ignores.
    fn content_digest(&self, path: &Path) -> Option<String> {
        self.tree_digest(path)
    }

    /// Where temporary files go.
    fn temp_dir(&self) -> PathBuf {
        PathBuf::from("/tmp")
    }

    /// Bytes nobody can guess.
    fn random(&self, bytes: &mut [u8]);

    /// A value from the `local` or `secret` section of the environment.
    fn context_value(&self, _section: &str, _name: &str) -> Option<Value> {
        None
    }

    /// Whether a path is a link, whatever it leads to.
    fn is_link(&self, _path: &Path) -> bool {
        false
    }

    /// Whether another file system begins at a path.
    fn is_mount(&self, _path: &Path) -> bool {
        false
    }

    /// The path with all links followed; the path itself if it leads nowhere.
    fn real_path(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    /// Runs a program, which was allowed; gives what it printed.
    fn run(&self, _command: &[&str]) -> Result<Vec<u8>, String> {
        Err("programs cannot be run here".to_owned())
    }

    /// Whether what goes beyond reading the project may be used: `pipe`, `url` and the like.
    fn permits(&self, _name: &str) -> bool {
        false
    }

    /// What `get_ensemble_metadata` gives.
    fn metadata(&self) -> Map {
        Map::new()
    }

    /// Sets or removes variables of the environment (`to_env` with `update_os_environ`).
    fn update_env(&self, _changes: &[(String, Option<String>)]) {}
}
