//! Errors of transfers.

use std::path::Path;

use crate::system::fs;
use crate::text::format_size;

/// The maximum number of entries of all folders of a download.
pub(super) const MAX_ENTRIES: u64 = 1_000_000;

/// The reasons why a transfer failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("could not {operation} `{}`: {why}", .path.escape_debug())]
    Failed {
        /// The attempted operation, as a verb.
        operation: &'static str,
        path: String,
        /// The message of the system or the host.
        why: String,
    },
    /// The target of [`super::Content::Bytes`] is a folder.
    #[error("`{0}` is a folder: name the file to write")]
    NoName(String),
    /// The target of a file is a folder, or the other way round.
    #[error(
        "could not write `{}`: the target has a {} of this name; remove it first",
        path.escape_debug(),
        if *is_folder { "folder" } else { "file" }
    )]
    OtherKind {
        path: String,
        /// True if a folder stands where a file is to be written.
        is_folder: bool,
    },
    /// The path is a socket, a device or the like.
    #[error("`{0}` is neither a file nor a folder")]
    NoFile(String),
    /// A link makes the folders endless.
    #[error(
        "`{}` leads back to a folder that contains it, or is nested too deeply",
        .0.escape_debug()
    )]
    Loop(String),
    /// A name is not UTF-8, or has a slash or control characters.
    #[error(
        "`{}` cannot be transferred: its name is empty, is not UTF-8, or contains `/` or control \
         characters; rename it first",
        .0.escape_debug()
    )]
    Name(String),
    #[error("`{}…` cannot be transferred: its name or path is too long", start(.0))]
    LongName(String),
    /// The files of a download are larger than its limit.
    #[error(
        "the download of `{}` exceeds the limit of {}; `--max-size`, or `max_size` of a task's step, \
         raises the limit",
        .path.escape_debug(),
        format_size(*.max)
    )]
    TooLarge { path: String, max: u64 },
    /// The folders of a download have more entries than allowed.
    #[error(
        "`{}` has too many entries: a download may have {MAX_ENTRIES}; copy its folders one by one, \
         or an archive of them",
        .0.escape_debug()
    )]
    TooManyEntries(String),
    /// The location could not be reached, or the transfer was stopped.
    #[error("{0}")]
    Exit(super::Exit),
}

/// Returns the start of a long path for a message.
fn start(path: &str) -> String {
    let start: String = path.chars().take(100).collect();
    start.escape_debug().to_string()
}

impl Error {
    pub(super) fn new(what: &'static str, path: &Path, error: &std::io::Error) -> Self {
        Self::Failed {
            operation: what,
            path: path.display().to_string(),
            why: fs::os_message(error).to_lowercase(),
        }
    }
}
