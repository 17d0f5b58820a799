//! Runs the git program for operations that need the user's credentials, filters, hooks or signing keys. The
//! program never prompts, because no terminal is attached to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Error;
use crate::system::env::Env;
use crate::system::process::{Helper, Output, run};
use crate::text::without_logins;

/// The time limit of a call that uses no network.
const LOCAL_TIME_LIMIT: Duration = Duration::from_mins(2);

/// A call of the git program in a folder.
#[derive(Debug)]
pub(super) struct GitCommand {
    folder: PathBuf,
    helper: Helper,
}

impl GitCommand {
    /// Creates a call that obeys all settings of the repository around the folder. Only the call that lists the
    /// settings may do so; all others begin with [`super::repository::Repository::git`].
    pub(super) fn new<W: Into<String>>(folder: &Path, words: impl IntoIterator<Item = W>) -> Self {
        let fixed = [
            "git",
            "-c",
            "safe.bareRepository=explicit",
            "-c",
            "gc.auto=0",
            "-c",
            "maintenance.auto=false",
            "-c",
            "core.fsync=all",
        ];
        let words = words.into_iter().map(Into::into);
        let mut helper = Helper::new(fixed.map(str::to_owned).into_iter().chain(words));
        helper.cwd = Some(folder.to_owned());
        helper.env = Some(inherited_env());
        helper.extra_env = noninteractive_env();
        helper.time_limit = LOCAL_TIME_LIMIT;
        Self {
            folder: folder.to_owned(),
            helper,
        }
    }

    pub(super) fn time_limit(mut self, limit: Duration) -> Self {
        self.helper.time_limit = limit;
        self
    }

    /// Declares that the call waits for another machine, up to a time limit.
    pub(super) fn over_network(mut self, limit: Duration) -> Self {
        self.helper.is_remote = true;
        self.time_limit(limit)
    }

    /// Sets variables of the call.
    pub(super) fn variables(mut self, variables: &[(String, String)]) -> Self {
        self.helper.extra_env.extend(variables.iter().cloned());
        self
    }

    pub(super) fn stdin(mut self, bytes: &[u8]) -> Self {
        bytes.clone_into(&mut self.helper.stdin);
        self
    }

    pub(super) fn set_env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.helper.extra_env.push((name.to_owned(), value.into()));
        self
    }

    /// Runs the call. Every exit code is a success here.
    pub(super) fn run(self) -> Result<Output, Error> {
        let mut output = run(&self.helper).map_err(|source| Error::NotRun {
            path: self.folder,
            source,
        })?;
        output.stderr = without_logins(&String::from_utf8_lossy(&output.stderr)).into_bytes();
        Ok(output)
    }

    /// Runs the call and fails if git exits with an error. `action` names the operation in the error.
    pub(super) fn run_checked(self, action: &'static str) -> Result<Output, Error> {
        let folder = self.folder.clone();
        let output = self.run()?;
        if output.is_ok() {
            return Ok(output);
        }
        Err(Error::refused(action, &folder, &error_text(&output)))
    }
}

/// Returns git's error output as one line, without hints.
pub(super) fn error_text(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().map(str::trim);
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("hint:"))
        .collect();
    if lines.is_empty() {
        return format!("git ended with {}", output.code);
    }
    lines.join("; ")
}

/// Variables that point git at another repository or file of settings than the folder's. Git sets most of them
/// when it runs hooks.
pub(super) const REPOSITORY_VARIABLES: [&str; 9] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
];

/// Returns this process's environment without [`REPOSITORY_VARIABLES`].
fn inherited_env() -> Vec<(String, String)> {
    let env = Env::of_this_process();
    let own = env.all().iter();
    own.filter(|(name, _)| !REPOSITORY_VARIABLES.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns variables that prevent git from prompting and from translating messages.
fn noninteractive_env() -> Vec<(String, String)> {
    [
        ("GIT_TERMINAL_PROMPT", "0"),
        // A call that only reads must not lock the index to refresh it.
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GCM_INTERACTIVE", "never"),
        ("SSH_ASKPASS_REQUIRE", "never"),
        ("LC_ALL", "C"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}
