//! Gets the passwords of hosts before a run begins: from a question, a file, a command, a variable, or a secret of the
//! environment.

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::failure::{Failure, FailureKind};
use crate::diagnostic::Diagnostics;
use crate::git::exposed_password_warning;
use crate::host::{PASSWORD_VARIABLES, Passwords, Secret};
use crate::system::env::Env;
use crate::system::fs;
use crate::system::process::{self, Helper};

/// The maximum size of a password file in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// The source of one password.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PasswordSource {
    /// The variable of this process, or else the secret of the environment, if there is either.
    #[default]
    Variable,
    /// A question to the user.
    Ask,
    /// The first line of a file.
    File(PathBuf),
    /// The first line that a command of this machine prints.
    Command(String),
}

/// The sources of the passwords of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PasswordSources {
    pub login: PasswordSource,
    pub sudo: PasswordSource,
    pub passphrase: PasswordSource,
}

/// The values that the environment of an ensemble gives for login, `sudo` and keys.
pub type EnvironmentPasswords = [Option<Secret>; 3];

/// The names of the secrets in an environment, in the order of [`EnvironmentPasswords`].
pub const PASSWORD_SECRETS: [&str; 3] = ["ssh_password", "sudo_password", "ssh_passphrase"];

impl PasswordSources {
    /// Gets the passwords. Files that others can read cause warnings.
    ///
    /// # Errors
    ///
    /// A file cannot be read, a command fails, or a question is not answered.
    pub fn read(
        &self,
        env: &Env,
        secrets: &EnvironmentPasswords,
        ask: &mut dyn FnMut(&str) -> Option<Secret>,
    ) -> Result<(Passwords, Diagnostics), Failure> {
        let kinds = [
            (&self.login, "login password of the hosts"),
            (&self.sudo, "sudo password of the hosts"),
            (&self.passphrase, "passphrase of the key files"),
        ];
        let mut warnings = Diagnostics::default();
        let mut found = Vec::with_capacity(kinds.len());
        let variables = PASSWORD_VARIABLES.iter().zip(secrets);
        for ((source, what), (variable, secret)) in kinds.into_iter().zip(variables) {
            found.push(match source {
                PasswordSource::Variable => {
                    let stated = env.non_empty(variable).map(Secret::new);
                    stated.or_else(|| secret.clone())
                }
                PasswordSource::Ask => Some(ask(&format!("{what}: ")).ok_or_else(|| {
                    let message = format!("the {what} was asked for, but no answer was given");
                    Failure::new(FailureKind::Refused, message, None)
                })?),
                PasswordSource::File(path) => {
                    let warning = exposed_password_warning(path, &format!("the {what}"));
                    if let Some(warning) = warning {
                        warnings.push(warning);
                    }
                    Some(of_file(path, what)?)
                }
                PasswordSource::Command(text) => Some(of_command(text, what)?),
            });
        }
        let mut found = found.into_iter();
        let mut next = || found.next().flatten();
        Ok((Passwords::new(next(), next(), next()), warnings))
    }
}

fn of_file(path: &Path, what: &str) -> Result<Secret, Failure> {
    let bytes = fs::read_within(path, MAX_FILE_BYTES).map_err(|error| {
        let message = format!("the {what} cannot be read: {error}");
        Failure::new(FailureKind::Usage, message, None)
    })?;
    let bytes = Zeroizing::new(bytes);
    first_line(&bytes, &format!("`{}`", path.display()), what)
}

fn of_command(text: &str, what: &str) -> Result<Secret, Failure> {
    let refused = |why: String| {
        let message = format!("the command for the {what} failed: {why}");
        Failure::new(FailureKind::Refused, message, None)
    };
    let helper = Helper::new(["/bin/sh", "-c", text]);
    let output = process::run(&helper).map_err(|error| refused(error.to_string()))?;
    let printed = Zeroizing::new(output.stdout.clone());
    if !output.is_ok() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().last().map_or("", str::trim);
        return Err(refused(format!("exit code {}: {said}", output.code)));
    }
    first_line(&printed, "the command", what)
}

fn first_line(bytes: &[u8], source: &str, what: &str) -> Result<Secret, Failure> {
    let line = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let wrong = |why: &str| {
        let message = format!("{source} gives no {what}: {why}");
        Failure::new(FailureKind::Refused, message, None)
    };
    match std::str::from_utf8(line) {
        Ok("") => Err(wrong("its first line is empty")),
        Ok(line) => Ok(Secret::new(line)),
        Err(_) => Err(wrong("its first line is not UTF-8 text")),
    }
}
