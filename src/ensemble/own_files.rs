//! The files and folders that this program writes beside a manifest. No symbolic link is followed there: a link
//! in a project that somebody else wrote could lead to any file of the user.

use std::path::Path;

use crate::drift::DRIFT_FILE;
use crate::system::fs::{self, Beneath};

/// The folders and files beside a manifest that only this program writes.
pub(super) const OWN_NAMES: [&str; 10] = [
    "planned",
    "active",
    "failed",
    "jobs",
    "changes",
    "artifacts",
    "secrets",
    "local",
    "jobs.tsv",
    DRIFT_FILE,
];

/// The end of the name of the note about the remote lock. The local lock refuses links itself.
const REMOTE_LOCK_END: &str = ".lfs.lock";

/// Opens the folder of a manifest, so that all later paths in it stay beneath it.
pub fn open_folder(manifest: &Path) -> Result<Beneath, fs::Error> {
    Beneath::open(fs::parent_of(manifest))
}

/// Fails if a file or folder of the ensemble is a symbolic link. The error names the link and its target.
pub fn refuse_links(manifest: &Path) -> Result<(), fs::Error> {
    let folder = match open_folder(manifest) {
        // A missing folder is reported when the manifest is read.
        Err(error) if error.is_not_found() => return Ok(()),
        other => other?,
    };
    let name = manifest.file_name().unwrap_or_default().to_string_lossy();
    let note = format!("{name}{REMOTE_LOCK_END}");
    for name in OWN_NAMES.into_iter().chain([note.as_str()]) {
        folder.refuse_link(Path::new(name))?;
    }
    Ok(())
}
