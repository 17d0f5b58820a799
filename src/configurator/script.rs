//! The script of an artifact, which a command runs, and the interpreter for a script that is no program itself.

use std::path::PathBuf;
use std::sync::Arc;

use crate::task::TaskView;
use crate::text::shlex_quote;
use crate::tosca::Implementation;
use crate::value::{List, Value};

/// The types of artifacts that have an interpreter.
const INTERPRETERS: [(&str, &str); 2] = [
    ("tosca.artifacts.Implementation.Bash", "bash"),
    ("tosca.artifacts.Implementation.Python", "python3"),
];

/// The file of an artifact that is a script.
#[derive(Debug)]
pub(super) struct Script {
    file: Arc<str>,
    interpreter: &'static str,
    /// The folder of the YAML file that declares the artifact.
    base_dir: Arc<PathBuf>,
}

impl Script {
    /// Returns the script that an implementation runs.
    pub(super) fn of(implementation: &Implementation) -> Option<Self> {
        let artifact = implementation.primary.as_ref()?;
        let (_, interpreter) = INTERPRETERS.iter().find(|(name, _)| artifact.is_a(name))?;
        Some(Self {
            file: artifact.file.as_str()?.into(),
            interpreter,
            base_dir: Arc::clone(&artifact.base_dir),
        })
    }

    /// Returns a command with the interpreter in front of the script.
    ///
    /// Unfurl 1.2 takes the file for a command. A file that is a program, in the folder or on the `PATH`, runs like
    /// that here too, and every other file runs with its interpreter.
    pub(super) fn with_interpreter(&self, command: Value, task: &TaskView<'_>) -> Value {
        if task.has_program(&self.file) {
            return command;
        }
        let folders = [task.settings.base_dir, self.base_dir.as_path()];
        let mut paths = folders.iter().map(|folder| folder.join(&*self.file));
        let Some(path) = paths.find(|path| task.has_file(path)) else {
            return command;
        };
        let path = path.to_string_lossy().into_owned();
        let words = match command.reveal() {
            Value::List(words) if words.first().and_then(Value::as_str) == Some(&*self.file) => {
                let start = [Value::from(self.interpreter), Value::from(path)];
                let rest = words.iter().skip(1).cloned();
                Value::from(start.into_iter().chain(rest).collect::<List>())
            }
            Value::Str(text) => match text.strip_prefix(&*self.file) {
                Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => {
                    format!("{} {}{rest}", self.interpreter, shlex_quote(&path)).into()
                }
                _ => return command,
            },
            _ => return command,
        };
        words.sensitive_if(command.has_sensitive())
    }
}
