//! Reads files and metadata, and normalizes paths.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::error::error_context;
use super::{Error, FileAction};

pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(error_context(FileAction::Read, path))
}

/// Reads a whole file, up to `max_bytes`. Also protects against devices that never end.
///
/// # Errors
///
/// The file is larger or cannot be read.
pub fn read_within(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let file = std::fs::File::open(path).map_err(error_context(FileAction::Read, path))?;
    let mut bytes = Vec::new();
    let mut limited = file.take(max_bytes.saturating_add(1));
    limited
        .read_to_end(&mut bytes)
        .map_err(error_context(FileAction::Read, path))?;
    if bytes.len() as u64 > max_bytes {
        let message = format!("the file is larger than {} MiB", max_bytes >> 20);
        let source = std::io::Error::new(std::io::ErrorKind::FileTooLarge, message);
        return Err(error_context(FileAction::Read, path)(source));
    }
    Ok(bytes)
}

/// Reads at most the first `max_bytes` of a file.
pub fn read_start(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let file = std::fs::File::open(path).map_err(error_context(FileAction::Read, path))?;
    let mut bytes = Vec::new();
    let mut limited = file.take(max_bytes);
    limited
        .read_to_end(&mut bytes)
        .map_err(error_context(FileAction::Read, path))?;
    Ok(bytes)
}

/// Reads a whole file as UTF-8 text.
pub fn read_to_string(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(error_context(FileAction::Read, path))
}

/// Whether the path exists; symbolic links are followed.
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// Whether the path is a folder; symbolic links are followed.
pub fn is_dir(path: &Path) -> bool {
    path.is_dir()
}

/// Whether the path is a regular file; symbolic links are followed.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Whether the path itself is a symbolic link.
pub fn is_symlink(path: &Path) -> bool {
    path.is_symlink()
}

/// Returns the target of a symbolic link.
pub fn read_link(path: &Path) -> Result<PathBuf, Error> {
    std::fs::read_link(path).map_err(error_context(FileAction::Read, path))
}

/// Whether the path is a mount point.
pub fn is_mount(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (
        std::fs::symlink_metadata(path),
        std::fs::metadata(path.join("..")),
    ) {
        (Ok(own), Ok(_)) if own.is_symlink() => false,
        (Ok(own), Ok(above)) => own.dev() != above.dev() || own.ino() == above.ino(),
        _ => false,
    }
}

/// Whether the path is a regular file that someone may execute.
pub fn is_program(path: &Path) -> bool {
    is_file(path) && mode_of(path).is_ok_and(|mode| mode & 0o111 != 0)
}

/// Returns the permission bits of a file.
pub fn mode_of(path: &Path) -> Result<u32, Error> {
    let metadata = std::fs::metadata(path).map_err(error_context(FileAction::Inspect, path))?;
    Ok(metadata.permissions().mode() & 0o7777)
}

/// Returns the modification time of a file; `None` if it does not exist.
pub fn modified_time(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

/// Returns the absolute path with all symbolic links resolved.
pub fn canonicalize(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize()
        .map_err(error_context(FileAction::Inspect, path))
}

/// Whether the path, not followed if it is a symbolic link, belongs to this user.
pub fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.uid() == nix::unistd::geteuid().as_raw())
}

/// Whether a relative path stays inside its starting folder. Checks only the text: no `..`, not absolute, has
/// a file name.
pub fn is_within(path: &Path) -> bool {
    let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    path.file_name().is_some() && path.components().all(stays)
}

/// Makes a path absolute and normalizes it without resolving symbolic links, as users read it.
pub fn absolute(path: &Path, base: &Path) -> PathBuf {
    normalize(&base.join(path))
}

/// Removes `.` and `..` from a path without resolving symbolic links.
pub fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match normalized.components().next_back() {
                Some(Component::Normal(_)) => {
                    normalized.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => normalized.push(".."),
            },
            other => normalized.push(other),
        }
    }
    if normalized.as_os_str().is_empty() {
        normalized.push(".");
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let error = read_within(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(
            error.to_string(),
            "could not read `/dev/zero`: the file is larger than 1 MiB"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(read_within(&path, 3).unwrap(), b"abc");
        assert!(read_within(&path, 2).is_err());
    }

    #[test]
    fn dots_are_taken_out_by_their_letters() {
        let cases = [
            ("/a/./b/../c", "/a/c"),
            ("/../a", "/a"),
            ("../a/..", ".."),
            ("a/..", "."),
            ("./a/", "a"),
        ];
        for (path, expected) in cases {
            assert_eq!(normalize(Path::new(path)), Path::new(expected), "{path}");
        }
        assert_eq!(
            absolute(Path::new("../x"), Path::new("/a/b")),
            Path::new("/a/x")
        );
    }

    #[test]
    fn a_missing_file_is_reported_with_its_path() {
        let error = read_to_string(Path::new("/no/such/file")).unwrap_err();
        assert!(error.is_not_found());
        insta::assert_snapshot!(error, @"could not read `/no/such/file`: no such file or directory");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        let error = read_to_string(&path).unwrap_err();
        assert_eq!(error.hint().unwrap(), "the file must be UTF-8 text");
    }
}
