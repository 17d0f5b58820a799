//! Copies a file or a folder of this machine, beside its place and moved there once it is whole.
#![expect(clippy::disallowed_methods, reason = "what is copied keeps its owners")]

use std::fs::{File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{
    MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown, lchown, symlink,
};
use std::path::{Path, PathBuf};

use nix::errno::Errno;

/// What others may not do with a copy that does not keep the permission bits as they are.
const RESTRICTED_MODE_BITS: u32 = 0o022;

/// A hidden name in the same folder, which nobody else has.
pub(super) fn temporary_sibling(path: &Path) -> PathBuf {
    path.with_file_name(format!(".unfurl-{}", ulid::Ulid::generate()))
}

/// Copies a file, or a folder with all that is in it. A link is followed where it is what is
/// copied, and copied where it is in a folder.
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
        // One of the two is nothing to remove; what is told is the first error.
        std::fs::remove_file(&new).ok();
        std::fs::remove_dir_all(&new).ok();
    }
    result
}

fn copy_into(from: &Path, to: &Path, source: &Metadata, preserve: bool) -> std::io::Result<()> {
    let mut later = Vec::new();
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
            // What is put into it changes its time, and needs its permission.
            later.push((to, source));
        } else if source.is_file() {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            let mut file = options.open(&to)?;
            std::io::copy(&mut File::open(&from)?, &mut file)?;
            apply_metadata(&file, &source, preserve)?;
        }
    }
    for (folder, source) in later.iter().rev() {
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
            // Who may not give files away keeps them.
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
