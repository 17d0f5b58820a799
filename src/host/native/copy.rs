//! Copies a local file or folder under a temporary name, and renames the copy when it is complete.
#![expect(clippy::disallowed_methods, reason = "copies keep their owners")]

use std::fs::{File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{
    MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown, lchown, symlink,
};
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::system::fs;

/// The permission bits removed from a copy that does not preserve them: write access of group and
/// others.
const RESTRICTED_MODE_BITS: u32 = 0o022;

/// Returns a unique hidden name in the same folder.
pub(super) fn temporary_sibling(path: &Path) -> PathBuf {
    path.with_file_name(format!(".unfurl-{}", ulid::Ulid::generate()))
}

/// Copies a file, or a folder with everything in it.
///
/// A link given as the source is followed. Links inside a folder are copied as links.
pub(super) fn copy(from: &Path, to: &Path, preserve: bool) -> std::io::Result<()> {
    let source = std::fs::metadata(from)?;
    match std::fs::symlink_metadata(to) {
        Ok(there) if there.is_dir() => return Err(Errno::EISDIR.into()),
        Ok(_) if source.is_dir() => return Err(Errno::EEXIST.into()),
        _ => {}
    }
    let new = temporary_sibling(to);
    let result = copy_into(from, &new, &source, preserve).and_then(|()| std::fs::rename(&new, to));
    if result.is_err() {
        // Only one of these can succeed. The first error is the one to report.
        std::fs::remove_file(&new).ok();
        std::fs::remove_dir_all(&new).ok();
    }
    result
}

fn copy_into(from: &Path, to: &Path, source: &Metadata, preserve: bool) -> std::io::Result<()> {
    let mut folders = Vec::new();
    let mut waiting = vec![(from.to_owned(), to.to_owned(), source.clone())];
    while let Some((from, to, source)) = waiting.pop() {
        if source.is_symlink() {
            symlink(std::fs::read_link(&from)?, &to)?;
            if preserve {
                lchown(&to, Some(source.uid()), Some(source.gid()))?;
            }
        } else if source.is_dir() {
            std::fs::create_dir(&to)?;
            for item in std::fs::read_dir(&from)? {
                let item = item?;
                let path = to.join(item.file_name());
                waiting.push((item.path(), path, item.metadata()?));
            }
            // The metadata comes last: new entries change the folder's time, and need write
            // permission.
            folders.push((to, source));
        } else if source.is_file() {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            let mut file = options.open(&to)?;
            std::io::copy(&mut fs::open_regular(&from)?, &mut file)?;
            apply_metadata(&file, &source, preserve)?;
        }
    }
    for (folder, source) in folders.iter().rev() {
        apply_metadata(&File::open(folder)?, source, preserve)?;
    }
    Ok(())
}

fn apply_metadata(file: &File, source: &Metadata, preserve: bool) -> std::io::Result<()> {
    if !preserve {
        let mode = source.mode() & 0o777 & !RESTRICTED_MODE_BITS;
        return file.set_permissions(Permissions::from_mode(mode));
    }
    let is = file.metadata()?;
    if (is.uid(), is.gid()) != (source.uid(), source.gid()) {
        let chown_result = fchown(file, Some(source.uid()), Some(source.gid()));
        match chown_result {
            // A user who may not change the owner keeps the copy as their own.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
            other => other?,
        }
    }
    file.set_permissions(Permissions::from_mode(source.mode() & 0o7777))?;
    let times = FileTimes::new()
        .set_accessed(source.accessed()?)
        .set_modified(source.modified()?);
    file.set_times(times)
}
