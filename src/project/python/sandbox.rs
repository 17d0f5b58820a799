//! The process in which programs of a project in Python run: without network, with few variables and a time limit.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::Duration;

use super::interpreters::find_interpreters;
use crate::system::env::Env;
use crate::system::process::{self, Helper, Output};

/// The environment variable that sets the time limit, in seconds.
pub(super) const TIME_LIMIT_VARIABLE: &str = "UNFURL_PYTHON_TIMEOUT";

/// The time limit if the environment variable is not set.
const DEFAULT_TIME_LIMIT: Duration = Duration::from_secs(30);

/// The maximum time limit in seconds: one day.
const MAX_TIME_LIMIT: f64 = 86_400.0;

/// The maximum size of the output, in bytes.
const MAX_OUTPUT_BYTES: usize = 64 << 20;

/// The environment variables that the program inherits.
const PASSED_VARIABLES: [&str; 4] = ["PATH", "HOME", "LANG", "PYTHONPATH"];

/// Variables for a reproducible result: a fixed order of sets, and a fixed encoding.
const FIXED_VARIABLES: [(&str, &str); 2] = [("PYTHONHASHSEED", "0"), ("PYTHONUTF8", "1")];

/// The prefixes of commands without network access, in the order of preference.
const NETWORK_ISOLATION_COMMANDS: [&[&str]; 3] = [
    &["unshare", "--net", "--"],
    &["unshare", "--map-current-user", "--net", "--"],
    &["unshare", "--map-root-user", "--net", "--"],
];

/// The sandbox of programs in Python.
#[derive(Debug)]
pub struct PythonSandbox<'e> {
    env: &'e Env,
    network_isolation: OnceCell<Option<&'static [&'static str]>>,
}

/// The reason why a program in Python gave no output.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(
        "`{TIME_LIMIT_VARIABLE}` has the invalid value `{0}`; set it to a number of seconds up to a day"
    )]
    InvalidTimeLimit(String),
    #[error("it did not end within {} s; `{TIME_LIMIT_VARIABLE}` sets the limit in seconds", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("its output exceeds 64 MiB")]
    OutputTooLarge,
    #[error(transparent)]
    StartFailed(process::Error),
}

impl<'e> PythonSandbox<'e> {
    /// Creates the sandbox with some variables of an environment.
    pub fn new(env: &'e Env) -> Self {
        Self {
            env,
            network_isolation: OnceCell::new(),
        }
    }

    /// Returns the interpreters to try, in the order of preference.
    pub fn interpreters(&self) -> Vec<PathBuf> {
        find_interpreters(self.env)
    }

    /// Runs a command, which starts with an interpreter.
    ///
    /// # Errors
    ///
    /// The program cannot be started, takes too long, or writes too much.
    pub fn run(&self, helper: Helper) -> Result<Output, SandboxError> {
        let time_limit = self.time_limit()?;
        let prefix = self.network_isolation().unwrap_or_default();
        let prefix = prefix.iter().map(|word| (*word).to_owned());
        let helper = Helper {
            argv: prefix.chain(helper.argv).collect(),
            env: Some(self.environment()),
            extra_env: FIXED_VARIABLES
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            time_limit,
            max_output: MAX_OUTPUT_BYTES,
            ..helper
        };
        let output = process::run(&helper).map_err(|error| match error {
            process::Error::TimedOut { time_limit, .. } => SandboxError::TimedOut(time_limit),
            other => SandboxError::StartFailed(other),
        })?;
        if output.stdout.len() >= MAX_OUTPUT_BYTES {
            return Err(SandboxError::OutputTooLarge);
        }
        Ok(output)
    }

    fn environment(&self) -> Vec<(String, String)> {
        let value = |name: &str| Some((name.to_owned(), self.env.get(name)?.to_owned()));
        PASSED_VARIABLES.into_iter().filter_map(value).collect()
    }

    fn time_limit(&self) -> Result<Duration, SandboxError> {
        let Some(text) = self.env.non_empty(TIME_LIMIT_VARIABLE) else {
            return Ok(DEFAULT_TIME_LIMIT);
        };
        let seconds = text.trim().parse().ok();
        let seconds = seconds.filter(|seconds| (0.001..=MAX_TIME_LIMIT).contains(seconds));
        let limit = seconds.map(Duration::from_secs_f64);
        limit.ok_or_else(|| SandboxError::InvalidTimeLimit(text.to_owned()))
    }

    /// Returns the command prefix that disables the network. `None` if the system permits none.
    pub(super) fn network_isolation(&self) -> Option<&'static [&'static str]> {
        *self.network_isolation.get_or_init(|| {
            let works = |prefix: &&&[&str]| {
                let helper = Helper {
                    env: Some(self.environment()),
                    time_limit: Duration::from_secs(5),
                    ..Helper::new(prefix.iter().copied().chain(["true"]))
                };
                process::run(&helper).is_ok_and(|output| output.is_ok())
            };
            NETWORK_ISOLATION_COMMANDS.iter().find(works).copied()
        })
    }
}

/// Returns the last line that is not empty.
pub fn last_line(bytes: &[u8]) -> String {
    let tail = &bytes[bytes.len().saturating_sub(2000)..];
    let text = String::from_utf8_lossy(tail);
    let mut lines = text.lines().rev().map(str::trim);
    lines
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_limit_is_a_number_of_seconds() {
        let limit = |text: &str| {
            let mut env = Env::default();
            env.set(TIME_LIMIT_VARIABLE, text);
            PythonSandbox::new(&env).time_limit().ok()
        };
        assert_eq!(limit(""), Some(DEFAULT_TIME_LIMIT));
        assert_eq!(limit(" 2 "), Some(Duration::from_secs(2)));
        assert_eq!(limit("0.5"), Some(Duration::from_millis(500)));
        for wrong in ["0", "-1", "x", "NaN", "inf", "1e9", "1s"] {
            assert_eq!(limit(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_program_sees_little_of_the_environment() {
        let mut env = Env::default();
        for name in ["PATH", "HOME", "SECRET_TOKEN", "UNFURL_HOME"] {
            env.set(name, "x");
        }
        let seen = PythonSandbox::new(&env).environment();
        let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["PATH", "HOME"]);
    }

    #[test]
    fn the_last_line_of_a_complaint_is_the_one_that_says_something() {
        assert_eq!(last_line(b"a\n  b \n\n"), "b");
        assert_eq!(last_line(b""), "");
        assert_eq!(last_line(&[0xff; 5000]).chars().count(), 2000);
    }
}
