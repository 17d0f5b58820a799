//! Checks that jobs can write where they must, and that other users cannot.

use std::path::Path;

use super::check::{Check, DoctorReport};
use super::subject::{Subject, quoted};
use crate::git::Repository;
use crate::system::env::temporary_dir;
use crate::system::{fs, user};

/// The permission bit that lets all other users write.
const OTHERS_MAY_WRITE: u32 = 0o002;
/// The permission bits that let other users read.
const OTHERS_MAY_READ: u32 = 0o077;
/// The folders beside the ensemble whose files hold secrets.
const SECRET_FOLDERS: [&str; 2] = ["secrets", "local"];

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let before = report.checks.len();
    if let Ok(found) = &subject.found {
        let folder = found.located.folder();
        check_writable(folder, "the ensemble", report);
        let files = [folder, &found.located.manifest];
        let root = found.located.root().filter(|root| *root != folder);
        for path in files.into_iter().chain(root) {
            check_others(path, report);
        }
        check_secrets(folder, report);
        if let Some(root) = root {
            check_secrets(root, report);
        }
    } else if let Some(folder) = subject.folder() {
        check_writable(&folder, "this folder", report);
    }
    check_writable(&temporary_dir(), "temporary files", report);
    if report.checks.len() == before {
        let message = "jobs can write their files, and other users cannot";
        report.push(Check::ok("permissions", "permissions", message));
    }
}

fn check_writable(folder: &Path, what: &str, report: &mut DoctorReport) {
    if fs::is_writable(folder) {
        return;
    }
    let shown = folder.display();
    let (message, fix) = if fs::is_dir(folder) {
        let message = format!("the folder of {what}, `{shown}`, cannot be written");
        let fix = match fs::identity_of(folder) {
            Ok(found) if found.owner != user::effective_id() => {
                format!("sudo chown {} {}", user::name(), quoted(folder))
            }
            _ => format!("chmod u+w {}", quoted(folder)),
        };
        (message, fix)
    } else {
        let message = format!("the folder of {what}, `{shown}`, does not exist");
        (message, format!("mkdir -p {}", quoted(folder)))
    };
    report.push(Check::error("permissions", "permissions", message).fix(fix));
}

fn check_others(path: &Path, report: &mut DoctorReport) {
    if fs::mode_of(path).is_ok_and(|mode| mode & OTHERS_MAY_WRITE != 0) {
        let message = format!("every user of this machine can write `{}`", path.display());
        let check = Check::warning("permissions", "permissions", message);
        report.push(check.fix(format!("chmod o-w {}", quoted(path))));
    }
}

/// Checks the files with secrets that stand in a project, or that jobs keep beside the ensemble.
fn check_secrets(folder: &Path, report: &mut DoctorReport) {
    let repository = fs::canonicalize(folder)
        .ok()
        .and_then(|folder| Some((Repository::discover(&folder).ok()??, folder)));
    for name in SECRET_FOLDERS {
        for entry in fs::list(&folder.join(name)).unwrap_or_default() {
            let is_file = entry.kind == fs::EntryKind::File;
            let is_key =
                name == "secrets" || entry.path.extension().is_some_and(|end| end == "key");
            let mode = fs::mode_of(&entry.path).unwrap_or_default();
            let is_tracked = repository.as_ref().is_some_and(|(repository, folder)| {
                let file = entry.path.file_name().unwrap_or_default();
                repository.is_tracked(&folder.join(name).join(file))
            });
            if is_file && is_tracked {
                let path = entry.path.display();
                let message = format!("git tracks `{path}`, which can hold secrets");
                let check = Check::warning("permissions", "permissions", message);
                report.push(check.fix(format!("git rm --cached {}", quoted(&entry.path))));
            }
            if is_file && is_key && mode & OTHERS_MAY_READ != 0 {
                let (path, mode) = (entry.path.display(), mode & 0o777);
                let message =
                    format!("other users can read the secret file `{path}` (mode {mode:o})");
                let check = Check::warning("permissions", "permissions", message);
                report.push(check.fix(format!("chmod 600 {}", quoted(&entry.path))));
            }
        }
    }
}
