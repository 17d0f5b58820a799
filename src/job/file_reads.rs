//! Files that count for a task although no recorded value has their contents: files whose path is part of a text, and
//! the script that a command runs.
//!
//! Their digests are entries of this program's own digest. Records of Unfurl have none, so that these files change
//! nothing about a take-over.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::evaluation::Evaluation;
use super::task::Task;
use crate::expr::{Read, Reads, Var};
use crate::value::Value;

/// The start of the record key of a file. The path from the ensemble's folder follows.
pub(super) const FILE_PREFIX: &str = ".file::";

/// The folders of the ensemble into which jobs write.
const JOB_FOLDERS: [&str; 5] = ["active", "changes", "failed", "jobs", "planned"];

/// The programs whose first argument is a script.
const INTERPRETERS: [&str; 10] = [
    "bash", "dash", "ksh", "node", "perl", "python", "python3", "ruby", "sh", "zsh",
];

/// The maximum number of attributes to search for the paths that they read.
const MAX_READS: usize = 100;

/// The configurator class that runs commands.
const SHELL: &str = "unfurl.configurators.shell.ShellConfigurator";

impl Evaluation<'_> {
    /// Returns the entries of a task's files, without those that have changed since the task read their path: the
    /// job writes them.
    pub(super) fn file_entries(&self, task: &Task) -> Vec<(String, Value)> {
        let files = task.reads.files.iter();
        let unchanged = files.filter_map(|(key, before)| {
            let now = self.file_digest(key);
            (!now.is_null() && now == *before).then(|| (key.clone(), now))
        });
        unchanged.collect()
    }

    /// Returns the digest of a file or folder by its record key. Null if it cannot be read.
    pub(super) fn file_digest(&self, key: &str) -> Value {
        let path = key.strip_prefix(FILE_PREFIX).unwrap_or(key);
        let digest = self.context.local_context.content_digest(Path::new(path));
        digest.map_or(Value::Null, Value::from)
    }

    /// Returns the paths that the inputs of a task name, and the script of its command.
    pub(super) fn files_read(&self, task: &Task, reads: &Reads) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for (read, value) in reads {
            let Read::Input(name) = read else { continue };
            if !task.counts_in_digest(name) {
                continue;
            }
            if let Some(Var::Inputs(inputs)) = task.inputs.context.vars.get("inputs") {
                let own = inputs.reads_of(name).unwrap_or_default();
                let mut note = |read: &Read| {
                    if let Read::Path(path) = read {
                        paths.push(path.clone());
                    }
                    false
                };
                self.context.memo.any_read(&own, MAX_READS, &mut note);
            }
            let context = &*self.context.local_context;
            let base_dir = &self.options.base_dir;
            let configurator = &task.spec.configurator;
            paths.extend(configurator.files_of_input(name, value, context, base_dir));
            if &**name == "command" {
                paths.extend(self.script_of(task, value));
            }
        }
        paths
    }

    /// Returns the script that a command runs.
    fn script_of(&self, task: &Task, command: &Value) -> Option<PathBuf> {
        let implementation = task.spec.operation.implementation.as_ref()?;
        if &*implementation.class_name() != SHELL || command.has_sensitive() {
            return None;
        }
        let file = implementation.primary.as_ref();
        let file = file.and_then(|artifact| artifact.file.as_str());
        let script = script_word(command, file)?;
        let cwd = task.inputs.raw.get("cwd").and_then(Value::as_str);
        let folder = self.options.base_dir.join(cwd.unwrap_or_default());
        let path = folder.join(script);
        let context = &self.context.local_context;
        (context.exists(&path) && !context.is_dir(&path)).then_some(path)
    }

    /// Returns the record key of a file. None for the files of a job, and for temporary ones.
    pub(super) fn file_key(&self, path: &Path) -> Option<String> {
        let base = &self.options.base_dir;
        let path = base.join(path);
        if path.starts_with(self.context.local_context.temp_dir()) {
            return None;
        }
        let relative = relative_path(&path, base)?;
        let first = relative.components().next()?;
        let is_of_job = |name: &str| *first.as_os_str() == *name;
        if JOB_FOLDERS.into_iter().any(is_of_job) {
            return None;
        }
        Some(format!("{FILE_PREFIX}{}", relative.to_str()?))
    }
}

/// Returns the word of a command that names a script: its first word if that is a path, or else the first argument of
/// an interpreter. `file` is the file of an artifact, which needs no folder.
fn script_word(command: &Value, file: Option<&str>) -> Option<String> {
    let words: Vec<Arc<str>> = match command.reveal() {
        Value::List(words) => words.iter().map(|word| word.to_string().into()).collect(),
        Value::Str(text) => text.split_whitespace().map(Arc::from).collect(),
        _ => return None,
    };
    let is_assignment = |word: &&Arc<str>| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
    };
    let mut words = words.iter().skip_while(is_assignment);
    let first = words.next()?;
    let is_script = |word: &str| word.contains('/') && !Path::new(word).is_absolute();
    if is_script(first) || file.is_some_and(|file| *file == **first) {
        return Some(first.to_string());
    }
    let script = words.next().filter(|_| INTERPRETERS.contains(&&**first))?;
    let is_relative = !script.starts_with('-') && !Path::new(&**script).is_absolute();
    is_relative.then(|| script.to_string())
}

/// Returns a path relative to a folder. Does not read the file system.
fn relative_path(path: &Path, from: &Path) -> Option<PathBuf> {
    let mut up = PathBuf::new();
    for folder in from.ancestors() {
        if let Ok(below) = path.strip_prefix(folder) {
            let relative = up.join(normal(below)?);
            return (!relative.as_os_str().is_empty()).then_some(relative);
        }
        up.push("..");
    }
    None
}

/// Returns a path without `.`. None if it leads upward.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir if parts.pop() => {}
            _ => return None,
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_a_command_is_its_first_word_or_the_argument_of_an_interpreter() {
        let script = |command: &str| script_word(&command.into(), None).unwrap_or_default();
        assert_eq!(script("./run.sh a b"), "./run.sh");
        assert_eq!(script("A=1 scripts/run.sh"), "scripts/run.sh");
        assert_eq!(script("bash run.sh x"), "run.sh");
        assert_eq!(script("python3 -m x"), "");
        assert_eq!(script("echo ./run.sh"), "");
        assert_eq!(script("/bin/true"), "");
        assert_eq!(script("echo 'open"), "");
        let list = Value::list([Value::from("run.sh"), "x".into()]);
        assert_eq!(
            script_word(&list, Some("run.sh")).as_deref(),
            Some("run.sh")
        );
        assert_eq!(script_word(&list, None), None);
    }

    #[test]
    fn a_path_is_relative_to_the_folder_of_the_ensemble() {
        let relative = |path: &str| relative_path(Path::new(path), Path::new("/p/e"));
        assert_eq!(relative("/p/e/./a/../b"), Some("b".into()));
        assert_eq!(relative("/p/lib/b"), Some("../lib/b".into()));
        assert_eq!(relative("/p/e"), None);
    }
}
