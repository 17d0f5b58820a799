//! Deletes the files of a host's folder that the mirrored local folder lacks.

use std::collections::HashSet;

use super::shell_fs::ShellFs;
use super::transfer_files::{Error, TransferItem, TransferKind};

/// The folders that are never mirrored into: too much would be lost by a mistake.
const PROTECTED: [&str; 36] = [
    "/",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
    "/usr/local",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/sbin",
    "/usr/share",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/mail",
    "/var/spool",
    "/var/tmp",
];

/// The folders with the home folders of a system.
const HOMES: [&str; 3] = ["/home", "/export/home", "/Users"];

/// Returns the entries that only the target folder has, the deepest first.
///
/// # Errors
///
/// The source has no file, or the target is a folder of the system or a home folder.
pub(super) async fn surplus(
    programs: &ShellFs<'_>,
    target: &str,
    items: &[TransferItem],
) -> Result<Vec<String>, Error> {
    let has_file = items
        .iter()
        .any(|item| matches!(item.kind, TransferKind::File { .. }));
    if !has_file {
        return Err(refused(
            target,
            "the source has no file, so everything would be deleted",
        ));
    }
    let (real, home) = programs.real_folder(target).await?;
    let Some(real) = real else {
        return Ok(Vec::new());
    };
    let is_home = real == home
        || HOMES.contains(&real.as_str())
        || parent_of(&real).is_some_and(|parent| HOMES.contains(&parent));
    if PROTECTED.contains(&real.as_str()) || is_home {
        return Err(refused(
            target,
            "a folder of the system or a home folder is never mirrored into",
        ));
    }
    let known: HashSet<&str> = items
        .iter()
        .map(|item| item.relative_path.as_str())
        .collect();
    let mut surplus = programs.entries_below(target).await?;
    surplus.retain(|path| !known.contains(path.as_str()));
    // An entry comes after those in it, so that folders are empty when their turn comes.
    surplus.sort_unstable_by(|one, other| other.cmp(one));
    Ok(surplus)
}

fn parent_of(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

fn refused(target: &str, why: &str) -> Error {
    Error::Failed {
        operation: "mirror into",
        path: target.to_owned(),
        why: why.to_owned(),
    }
}
