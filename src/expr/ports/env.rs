//! The environment that expressions are evaluated in.

use std::path::PathBuf;

use crate::value::{Map, Value};

/// Gives the variables and settings of the environment. Nothing here changes during a job.
pub trait Env {
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
