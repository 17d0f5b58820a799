//! The errors of reading or creating a digest key.

use std::path::PathBuf;

/// The reason why a key cannot be read or created.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A key file that other users can read.
    #[error("other users can read the key file `{}` (its mode is {mode:o})", .path.display())]
    Readable {
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// A file that does not contain a key.
    #[error("the key file `{}` does not hold 64 hexadecimal digits on one line", .path.display())]
    Malformed { path: PathBuf },
    /// A file that cannot be read or written.
    #[error("the key file `{}` cannot be used: {reason}", .path.display())]
    File {
        path: PathBuf,
        /// The message of the operating system.
        reason: String,
    },
    /// There is not enough memory to derive a key.
    #[error("the key for digests of secrets needs 32 MiB of memory, which are not available")]
    Memory,
    /// The operating system supplies no random numbers.
    #[error("the key for digests of secrets needs random numbers: {0}")]
    Random(String),
}

impl Error {
    /// Returns a hint about what to do.
    pub fn help(&self) -> String {
        match self {
            Self::Readable { path, .. } => format!(
                "run `chmod 600 {0}`, or remove the file if another user may have read the key",
                path.display()
            ),
            Self::Malformed { path } => format!(
                "restore `{}` from a backup, or remove it: a new key is then created on demand",
                path.display()
            ),
            Self::File { .. } => {
                "check the free disk space and the permissions of the file and its directory"
                    .to_owned()
            }
            Self::Memory => "run the job with more memory".to_owned(),
            Self::Random(_) => "check that `/dev/urandom` can be read".to_owned(),
        }
    }
}
