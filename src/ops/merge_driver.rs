//! Implements `unfurl merge-driver`, which git calls to merge two versions of a manifest.

use std::path::Path;

use super::failure::{Failure, FailureKind};
use crate::ensemble::merge_ensembles;
use crate::git::merge_lines;
use crate::system::fs;

/// The files with the three versions.
#[derive(Debug, Clone, Copy)]
pub struct MergeFiles<'a> {
    pub base: &'a Path,
    /// The local version, which is replaced by the result.
    pub ours: &'a Path,
    pub theirs: &'a Path,
}

/// Merges both sides into the local file. Returns descriptions of conflicts; the file then contains git's
/// conflict markers.
pub fn merge(files: &MergeFiles<'_>) -> Result<Vec<String>, Failure> {
    let failed = |error: fs::Error| {
        let hint = error.hint();
        Failure::new(FailureKind::Internal, error, hint)
    };
    let read = |path: &Path| {
        // Git hands over regular files. A link could lead out of the repository, and a pipe has no end.
        if fs::exists(path) && (fs::is_symlink(path) || !fs::is_file(path)) {
            let message = format!("could not merge `{}`: not a regular file", path.display());
            let hint = "give copies of the three versions, as git does for `%O %A %B`";
            let hint = Some(hint.to_owned());
            return Err(Failure::new(FailureKind::Internal, message, hint));
        }
        fs::read(path).map_err(failed)
    };
    let [base, ours, theirs] = [read(files.base)?, read(files.ours)?, read(files.theirs)?];
    let labels = ["ours", "theirs"];
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let ensembles = (text(&base), text(&ours), text(&theirs));
    let merged = match &ensembles {
        (Some(base), Some(ours), Some(theirs)) => merge_ensembles(base, ours, theirs, labels),
        _ => None,
    };
    if let Some(merged) = merged {
        write(files.ours, merged.text.as_bytes()).map_err(failed)?;
        return Ok(merged.conflicts);
    }
    // A file that is not a readable manifest is merged as git does, and always reported as a conflict,
    // because its records were not checked.
    if let Some((lines, _)) = merge_lines(&base, &ours, &theirs, labels) {
        write(files.ours, &lines).map_err(failed)?;
    }
    Ok(vec![
        "the whole file, because it is not a readable ensemble".to_owned(),
    ])
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), fs::Error> {
    fs::write_atomic(path, bytes, None)
}
