//! The settings of uploads and downloads, beside their paths.

use serde::{Deserialize, Serialize};

use super::names::{NameError, check_user_name};

/// The way in which an upload is made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PutSettings {
    /// The owner of the files: `user`, `user:group` or `:group`. None leaves them to the user who writes.
    pub owner: Option<String>,
    /// True if each file is compared by its SHA-256 digest before it gets its name.
    pub verify: bool,
    /// True if an interrupted upload of a file goes on where it stopped.
    pub resume: bool,
    /// The treatment of files of the target folder that the source lacks. None leaves them.
    pub mirror: Option<Mirror>,
}

/// The way in which a download is made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GetSettings {
    /// True if each file is compared by its SHA-256 digest before it gets its name.
    pub verify: bool,
    /// True if an interrupted download of a file goes on where it stopped.
    pub resume: bool,
}

/// The treatment of files that only the target folder has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mirror {
    /// They are deleted, after all files of the source have arrived.
    Delete,
    /// They are named only, and nothing is copied.
    DryRun,
}

impl PutSettings {
    /// Returns true if the files have to be written by shell programs, as SFTP cannot do all of it.
    pub(super) fn needs_shell(&self) -> bool {
        self.owner.is_some() || self.verify || self.resume
    }
}

impl GetSettings {
    /// Returns true if the files have to be read by shell programs, as SFTP cannot do all of it.
    pub(super) fn needs_shell(&self) -> bool {
        self.verify || self.resume
    }
}

/// Checks the owner of files: `user`, `user:group` or `:group`.
///
/// # Errors
///
/// A name is empty or has a character that is not allowed.
pub fn check_owner(text: &str) -> Result<(), NameError> {
    match text.split_once(':') {
        None => check_user_name(text),
        Some(("", group)) => check_user_name(group),
        Some((user, group)) => check_user_name(user).and_then(|()| check_user_name(group)),
    }
}
