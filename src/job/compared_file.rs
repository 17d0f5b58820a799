//! A file that a test run compared with what an operation would write.

use std::path::{Path, PathBuf};

use crate::text::diff;
use crate::value::Secrets;

/// The size of the largest file whose difference is shown, in bytes.
const MAX_DIFF_BYTES: usize = 1 << 20;

/// A file that an operation has written, compared with what the operation would write now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedFile {
    pub path: PathBuf,
    pub state: FileState,
}

/// The state of a compared file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    Same,
    Missing,
    /// The content differs. The difference as lines, if it can be shown.
    Differs(Option<String>),
    /// The file cannot be read, for this reason.
    Unreadable(String),
}

impl ComparedFile {
    /// Compares the content of a file with the wanted one. `is_secret` hides the difference.
    pub(super) fn of(
        path: &Path,
        found: &[u8],
        wanted: &[u8],
        is_secret: bool,
        secrets: &Secrets,
    ) -> Self {
        let state = if found == wanted {
            FileState::Same
        } else if is_secret {
            FileState::Differs(None)
        } else {
            FileState::Differs(text_difference(found, wanted, secrets))
        };
        Self {
            path: path.to_owned(),
            state,
        }
    }
}

/// Returns the difference of two texts without their secrets. None if they are no texts or too long.
fn text_difference(found: &[u8], wanted: &[u8], secrets: &Secrets) -> Option<String> {
    if found.len().max(wanted.len()) > MAX_DIFF_BYTES || found.contains(&0) || wanted.contains(&0) {
        return None;
    }
    let text = |bytes| std::str::from_utf8(bytes).ok().map(|it| secrets.redact(it));
    let (found, wanted) = (text(found)?, text(wanted)?);
    let lines = diff::unified_diff(&diff::lines(&found), &diff::lines(&wanted));
    // Without secrets, the texts may be the same.
    (!lines.is_empty()).then(|| lines[2..].concat())
}
