//! The errors of reading or creating a digest key.

use std::path::PathBuf;

/// The reason why a key cannot be read or created.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A key file that other users can read.
    #[error("others may read the key file `{}` (its mode is {mode:o})", .path.display())]
    Open {
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// A file that does not contain a key.
    #[error("the key file `{}` does not hold 64 hexadecimal digits on one line", .path.display())]
    Malformed {
        path: PathBuf,
    },
    /// A file that cannot be read or written.
    #[error("the key file `{}` cannot be used: {why}", .path.display())]
    File {
        path: PathBuf,
        /// The message of the operating system.
        why: String,
    },
}

impl Error {
    /// Returns a hint about what to do.
    pub fn help(&self) -> String {
        match self {
            Self::Open { path, .. } => format!(
                "run `chmod 600 {0}` if nobody else has read it, else remove it",
                path.display()
            ),
            Self::Malformed { path } => format!(
                "restore `{}`, or remove it: a new one is made when it is needed",
                path.display()
            ),
            Self::File { .. } => "make room or give permission".to_owned(),
        }
    }
}
