//! A file that a new project gets.

use std::path::{Path, PathBuf};

/// A file that a new project or ensemble gets.
#[derive(Clone, PartialEq, Eq)]
pub struct NewFile {
    /// The path in the new folder.
    pub path: PathBuf,
    pub text: String,
    /// The purpose of the file, as a phrase for the user.
    pub purpose: &'static str,
    /// Whether only the user may read the file.
    pub is_secret: bool,
}

impl NewFile {
    pub fn new(path: impl AsRef<Path>, text: impl Into<String>, purpose: &'static str) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            text: text.into(),
            purpose,
            is_secret: false,
        }
    }

    /// Returns the encrypted copy of a file with secrets.
    pub fn encrypted(path: &Path, text: String) -> Self {
        Self::new(
            path,
            text,
            "the encrypted copy of that file, which is committed",
        )
    }

    /// Makes the file readable for the user alone.
    #[must_use]
    pub(super) fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    /// Moves the file into a folder.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        self.path = folder.join(self.path);
        self
    }
}

/// Leaves out the text, which may contain a password.
impl std::fmt::Debug for NewFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewFile")
            .field("path", &self.path)
            .field("purpose", &self.purpose)
            .finish_non_exhaustive()
    }
}
