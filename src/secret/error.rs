//! Why there is no key.

use std::path::PathBuf;

/// Why there is no key.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Others may read the file.
    #[error("others may read the key file `{}` (its mode is {mode:o})", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file holds no key.
    #[error("the key file `{}` does not hold 64 hexadecimal digits on one line", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("the key file `{}` cannot be used: {why}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
}

impl Error {
    /// What to do about it.
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
