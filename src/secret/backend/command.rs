//! Secrets that a program prints, such as that of a password manager.

use std::time::Duration;

use super::contract::{Backend, BackendContext, Secret};
use super::error::Problem;
use super::file::{MAX_BYTES, text_of};
use super::name::SecretName;
use crate::system::env::Env;
use crate::system::process::{self, Helper, Output};
use crate::text::{without_controls, without_logins};
use crate::value::Secrets;

/// The maximum number of characters of a program's error output that a message shows.
const MAX_SHOWN: usize = 500;

/// Parts of the names of variables whose values no message shows.
const SECRET_NAMES: [&str; 5] = ["TOKEN", "PASSWORD", "PASSPHRASE", "SECRET", "KEY"];

/// Runs a program that prints the secret. No shell is involved.
#[derive(Debug)]
pub(super) struct CommandBackend {
    /// The program and its arguments, with the placeholder.
    pub(super) words: Vec<String>,
    pub(super) time_limit: Duration,
}

impl Backend for CommandBackend {
    fn needs_permission(&self) -> bool {
        true
    }

    fn fetch(&self, name: &SecretName, context: &BackendContext<'_>) -> Result<Secret, Problem> {
        let variables = context.env.all().iter();
        let helper = Helper {
            cwd: Some(context.folder.to_owned()),
            env: Some(
                variables
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
            ),
            time_limit: self.time_limit,
            is_remote: true,
            max_output: MAX_BYTES,
            ..Helper::new(self.words.iter().map(|word| name.fill_in(word)))
        };
        let program = self.words.first().map_or("", String::as_str);
        let output = process::run(&helper).map_err(|error| problem_of(program, &error))?;
        if !output.is_ok() {
            let reason = format!("`{program}` ended with exit code {}", output.code);
            let reason = match shown_errors(&output, context.env) {
                none if none.is_empty() => reason,
                text => format!("{reason}: {text}"),
            };
            let help =
                format!("run `{program}` in a terminal, and correct `command` of the backend");
            return Err(Problem::new(reason, help));
        }
        if output.truncated {
            let reason = format!("`{program}` printed more than {MAX_BYTES} bytes");
            return Err(Problem::new(reason, "let it print the secret alone"));
        }
        if output.stdout.trim_ascii().is_empty() {
            let reason = format!("`{program}` printed nothing");
            return Err(Problem::new(
                reason,
                "store the secret, or correct the name",
            ));
        }
        text_of(output.stdout).ok_or_else(|| {
            let reason = format!("`{program}` printed no text in UTF-8");
            Problem::new(reason, "let it print text, for example in base64")
        })
    }
}

fn problem_of(program: &str, error: &process::Error) -> Problem {
    let help = match error {
        process::Error::NotFound { .. } => {
            format!("install `{program}`, or correct `command` of the backend")
        }
        process::Error::TimedOut { .. } => {
            "unlock the password manager first, or raise `timeout` of the backend".to_owned()
        }
        _ => "correct `command` of the backend".to_owned(),
    };
    Problem::new(error.to_string(), help)
}

/// Returns the error output of a program as one line without secrets.
///
/// Secrets are the program's output, and the values of variables whose names tell that they are secret.
fn shown_errors(output: &Output, env: &Env) -> String {
    let mut secrets = Secrets::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        secrets.add(line.trim());
    }
    for (name, value) in env.all() {
        let name = name.to_ascii_uppercase();
        if SECRET_NAMES.iter().any(|part| name.contains(part)) {
            secrets.add(value.as_str());
        }
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let text = without_logins(&secrets.redact(text.trim()));
    let line = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(MAX_SHOWN).collect();
    without_controls(&line).into_owned()
}
