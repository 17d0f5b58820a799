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
    if is_protected(&real, &home) {
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

/// Returns true for a folder of the system and for a home folder. `home` is that of the user on the host.
fn is_protected(folder: &str, home: &str) -> bool {
    folder == home
        || PROTECTED.contains(&folder)
        || HOMES.contains(&folder)
        || parent_of(folder).is_some_and(|parent| HOMES.contains(&parent))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_system_and_homes_are_protected_and_folders_in_them_are_not() {
        for folder in [
            "/",
            "/usr/bin",
            "/var/lib",
            "/home",
            "/home/other",
            "/data/me",
        ] {
            assert!(is_protected(folder, "/data/me"), "{folder}");
        }
        for folder in [
            "/srv/site",
            "/home/other/site",
            "/usr/share/app",
            "/data/me/site",
        ] {
            assert!(!is_protected(folder, "/data/me"), "{folder}");
        }
    }
}
