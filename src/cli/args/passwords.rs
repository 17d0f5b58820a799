//! The options that give passwords for hosts. No option takes a password itself: command lines are visible to all users
//! of a machine.

use std::path::PathBuf;

use clap::Args;

use crate::ops::host_passwords::{PasswordSource, PasswordSources};

/// The options that give the passwords of hosts, of `sudo` on them, and the passphrases of keys.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Passwords")]
pub(in crate::cli) struct PasswordOptions {
    /// Ask once for the password to log in with, before anything runs
    #[arg(long)]
    ask_password: bool,
    /// A file whose first line is the password to log in with; `UNFURL_SSH_PASSWORD` gives one, too
    #[arg(long, value_name = "PATH", conflicts_with = "ask_password")]
    password_file: Option<PathBuf>,
    /// A command of this machine that prints the password to log in with
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["ask_password", "password_file"])]
    password_command: Option<String>,
    /// Ask once for the password of `sudo`, before anything runs
    #[arg(long)]
    ask_sudo_password: bool,
    /// A file whose first line is the password of `sudo`; `UNFURL_SUDO_PASSWORD` gives one, too
    #[arg(long, value_name = "PATH", conflicts_with = "ask_sudo_password")]
    sudo_password_file: Option<PathBuf>,
    /// A command of this machine that prints the password of `sudo`
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["ask_sudo_password", "sudo_password_file"])]
    sudo_password_command: Option<String>,
    /// Ask once for the passphrase of the key files, before anything runs
    #[arg(long)]
    ask_passphrase: bool,
    /// A file whose first line is the passphrase of the key files; `UNFURL_SSH_PASSPHRASE` gives one, too
    #[arg(long, value_name = "PATH", conflicts_with = "ask_passphrase")]
    passphrase_file: Option<PathBuf>,
    /// A command of this machine that prints the passphrase of the key files
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["ask_passphrase", "passphrase_file"])]
    passphrase_command: Option<String>,
}

impl PasswordOptions {
    /// Returns where the passwords come from.
    pub(in crate::cli) fn sources(&self) -> PasswordSources {
        PasswordSources {
            login: source(
                self.ask_password,
                self.password_file.as_ref(),
                self.password_command.as_ref(),
            ),
            sudo: source(
                self.ask_sudo_password,
                self.sudo_password_file.as_ref(),
                self.sudo_password_command.as_ref(),
            ),
            passphrase: source(
                self.ask_passphrase,
                self.passphrase_file.as_ref(),
                self.passphrase_command.as_ref(),
            ),
        }
    }
}

fn source(asks: bool, file: Option<&PathBuf>, command: Option<&String>) -> PasswordSource {
    match (asks, file, command) {
        (true, _, _) => PasswordSource::Ask,
        (_, Some(file), _) => PasswordSource::File(file.clone()),
        (_, _, Some(command)) => PasswordSource::Command(command.clone()),
        _ => PasswordSource::Variable,
    }
}
