//! The ways in which actions reach a machine other than this one.

use super::{Action, Location};

/// The way in which an action reaches a host or a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The login shell of the host starts a POSIX shell, which reads a script from its input. The script starts the
    /// command.
    Script,
    /// The SSH server gets the text of the command as it is, as `ssh HOST TEXT` sends it. No shell is needed.
    Raw,
    /// A POSIX shell that stays open reads the scripts of facts and changes.
    OpenShell,
    /// SFTP transfers files, or a POSIX shell where the host has no SFTP.
    Transfer,
}

impl Delivery {
    /// Returns the way in which an action reaches a location.
    pub fn of(action: &Action, location: &Location) -> Self {
        match action {
            Action::Run(command) if command.raw || location.is_raw() => Self::Raw,
            Action::Run(_) | Action::Call(_) => Self::Script,
            Action::Read(_) | Action::Change(_) => Self::OpenShell,
            Action::Put(_) | Action::Get(_) | Action::Private(_) => Self::Transfer,
        }
    }
}
