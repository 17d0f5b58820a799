//! The login of a user whose shell stays open on a host, through `sudo`.

use super::Command;

/// The program that starts the shell of another user, with the prompts that it may show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellLogin {
    /// The user. Shells of different users are kept apart.
    pub user: String,
    /// The command. Its last answer ends the login; then the shell reads its script.
    pub command: Command,
}
