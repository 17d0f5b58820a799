//! Checks the free space and the free inodes where jobs write.

use std::path::{Path, PathBuf};

use super::check::{Check, CheckState, DoctorReport};
use super::subject::{Subject, quoted};
use crate::system::env::temporary_dir;
use crate::system::fs::{self, FreeSpace};
use crate::text::format_size;

/// The free bytes below which the record of a job may not fit.
const FEW_BYTES: u64 = 16 << 20;
/// The free bytes below which there is a warning.
const LOW_BYTES: u64 = 256 << 20;
/// The same limits for the number of files.
const FEW_FILES: u64 = 64;
const LOW_FILES: u64 = 1024;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let named = [subject.folder(), Some(temporary_dir()), subject.user_home()];
    let mut devices = Vec::new();
    for folder in named.into_iter().flatten() {
        let Some(folder) = existing(&folder) else {
            continue;
        };
        let device = fs::identity_of(&folder).map(|found| found.device).ok();
        if device.is_some() && devices.contains(&device) {
            continue;
        }
        devices.push(device);
        if let Some(space) = fs::free_space(&folder) {
            report.push(of_space(&folder, space));
        }
    }
}

/// Returns the folder or the nearest one above it that exists.
fn existing(folder: &Path) -> Option<PathBuf> {
    let mut above = folder.ancestors();
    above.find(|folder| fs::is_dir(folder)).map(Path::to_owned)
}

/// Formats a size in whole MiB.
fn free_text(bytes: u64) -> String {
    format_size(bytes >> 20 << 20)
}

fn of_space(folder: &Path, space: FreeSpace) -> Check {
    let subject = "disk";
    let shown = folder.display();
    let fix = |check: Check, option: &str| check.fix(format!("df {option} {}", quoted(folder)));
    let low = |few: bool| {
        if few {
            CheckState::Error
        } else {
            CheckState::Warning
        }
    };
    if space.bytes < LOW_BYTES {
        let free = free_text(space.bytes);
        let message = format!("the file system of `{shown}` has only {free} free");
        let check = Check::new("disk", low(space.bytes < FEW_BYTES), subject, message);
        return fix(check.help("remove files that are not needed"), "-h");
    }
    if let Some(files) = space.files.filter(|files| *files < LOW_FILES) {
        let message = format!("the file system of `{shown}` can hold only {files} more files");
        let check = Check::new("disk", low(files < FEW_FILES), subject, message);
        return fix(check.help("remove files that are not needed"), "-i");
    }
    let free = free_text(space.bytes);
    Check::ok("disk", subject, format!("{free} free at `{shown}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_and_an_almost_full_one_a_warning() {
        let show = |bytes, files| {
            let check = of_space(Path::new("/srv/x"), FreeSpace { bytes, files });
            let fix = check.fix.unwrap_or_default();
            format!("{}: {} | {fix}", check.state.as_str(), check.message)
        };
        let table = [
            show(1 << 20, None),
            show(100 << 20, Some(5)),
            show(10 << 30, Some(5)),
            show(10 << 30, Some(1000)),
            show(10 << 30, None),
        ];
        insta::assert_snapshot!(table.join("\n"), @"
        error: the file system of `/srv/x` has only 1 MiB free | df -h /srv/x
        warning: the file system of `/srv/x` has only 100 MiB free | df -h /srv/x
        error: the file system of `/srv/x` can hold only 5 more files | df -i /srv/x
        warning: the file system of `/srv/x` can hold only 1000 more files | df -i /srv/x
        ok: 10 GiB free at `/srv/x` | 
        ");
    }
}
