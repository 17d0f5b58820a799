//! The changes and programs that expressions ask for.

use std::path::Path;

use super::error::EffectError;

/// Performs the effects of expressions.
pub trait Effects {
    /// Runs a program, which was allowed; gives its output.
    fn run(&self, command: &[&str]) -> Result<Vec<u8>, EffectError>;

    /// Writes a file, its directory included. Other users must not read sensitive contents.
    fn write(&self, path: &Path, contents: &[u8], sensitive: bool) -> Result<(), EffectError>;

    /// Makes a directory and those above it.
    fn make_dir(&self, path: &Path) -> Result<(), EffectError>;

    /// Sets or removes variables of the environment (`to_env` with `update_os_environ`).
    fn update_env(&self, changes: &[(String, Option<String>)]);
}
