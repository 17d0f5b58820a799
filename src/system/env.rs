//! The environment of this process: variables (as a snapshot that tests can replace), folders and arguments.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A snapshot of environment variables. Invalid UTF-8 is replaced in names and values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Env(BTreeMap<String, String>);

impl Env {
    /// Takes a snapshot of this process's environment.
    pub fn of_this_process() -> Self {
        let variables = std::env::vars_os().map(|(name, value)| {
            let name = name.to_string_lossy().into_owned();
            (name, value.to_string_lossy().into_owned())
        });
        let mut env: Self = variables.collect();
        if let Some(folder) = TEMPORARY_DIR.get() {
            // Commands of tasks see the folder that the option names.
            env.set(TEMPORARY_DIR_VARIABLE, folder.to_string_lossy());
        }
        env
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the value of a variable if it is set and not empty.
    pub fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Returns all variables, sorted by name.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Sets a variable in the snapshot only; the process's environment stays unchanged.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Removes variables from the snapshot only.
    pub fn remove(&mut self, names: &[&str]) {
        for name in names {
            self.0.remove(*name);
        }
    }
}

impl FromIterator<(String, String)> for Env {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        Self(variables.into_iter().collect())
    }
}

/// Returns the working directory of this process.
pub fn current_dir() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}

/// The folder for temporary files that the user chose.
static TEMPORARY_DIR: OnceLock<PathBuf> = OnceLock::new();

/// The variable with the folder for temporary files that the user chose.
const TEMPORARY_DIR_VARIABLE: &str = "UNFURL_TMPDIR";

/// Sets the folder for temporary files of this process. Only the first call has an effect.
pub fn set_temporary_dir(folder: PathBuf) {
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    drop(TEMPORARY_DIR.set(folder));
}

/// Returns the folder for temporary files: the one that the user chose, or else that of the system.
pub fn temporary_dir() -> PathBuf {
    TEMPORARY_DIR
        .get()
        .cloned()
        .unwrap_or_else(std::env::temp_dir)
}

/// Returns the path of this program's executable file.
pub fn current_exe() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

/// Returns the command-line arguments of this process, including the program name.
pub fn arguments() -> Vec<String> {
    std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_holds_this_process_variables() {
        let env = Env::of_this_process();
        let variables: Vec<(String, String)> = std::env::vars().collect();
        assert!(!variables.is_empty());
        assert_eq!(env.all().len(), variables.len());
        for (name, value) in variables {
            assert_eq!(env.get(&name), Some(&*value));
        }
    }

    #[test]
    fn setting_a_variable_changes_the_snapshot_only() {
        let mut env = Env::of_this_process();
        env.set("UNFURL_NOT_SET_ANYWHERE", "");
        assert_eq!(env.get("UNFURL_NOT_SET_ANYWHERE"), Some(""));
        assert_eq!(env.non_empty("UNFURL_NOT_SET_ANYWHERE"), None);
        assert_eq!(Env::of_this_process().get("UNFURL_NOT_SET_ANYWHERE"), None);
    }
}
