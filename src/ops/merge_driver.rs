//! `unfurl merge-driver`: git calls it to merge two versions of an ensemble.

use std::path::Path;

use super::failure::{Failure, FailureKind};
use crate::ensemble::merge_ensembles;
use crate::git::merge_lines;
use crate::system::fs;

/// The three versions of a file, and which file it is.
#[derive(Debug, Clone, Copy)]
pub struct MergeFiles<'a> {
    /// The version before both.
    pub base: &'a Path,
    /// This side's version, which takes the result.
    pub ours: &'a Path,
    /// The other side's version.
    pub theirs: &'a Path,
}

/// Merges the other side's version into this side's. Gives what is in conflict: then the file has
/// both versions between git's markers.
pub fn merge(files: &MergeFiles<'_>) -> Result<Vec<String>, Failure> {
    let failed = |error: fs::Error| {
        let hint = error.hint();
        Failure::new(FailureKind::Internal, error, hint)
    };
    let read = |path: &Path| fs::read(path).map_err(failed);
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
    // What is no ensemble is merged as git would; whether records in it agree, nobody has looked.
    if let Some((lines, _)) = merge_lines(&base, &ours, &theirs, labels) {
        write(files.ours, &lines).map_err(failed)?;
    }
    Ok(vec![
        "the file as a whole, which is no ensemble that can be read".to_owned(),
    ])
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), fs::Error> {
    fs::write_atomic(path, bytes, None)
}
