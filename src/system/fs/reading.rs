//! Reading, and finding out what paths name.
#![expect(clippy::disallowed_methods, reason = "this is the door")]

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::error::error_context;
use super::{Error, FileAction};

/// Reads all of a file.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(error_context(FileAction::Read, path))
}

/// Reads all of a file, unless it is larger than `most` bytes or, as a device, never ends.
pub fn read_within(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let file = std::fs::File::open(path).map_err(error_context(FileAction::Read, path))?;
    let mut bytes = Vec::new();
    let mut limited = file.take(max_bytes.saturating_add(1));
    limited
        .read_to_end(&mut bytes)
        .map_err(error_context(FileAction::Read, path))?;
    if bytes.len() as u64 > max_bytes {
        let message = format!("it has more than {} MiB", max_bytes >> 20);
        let source = std::io::Error::new(std::io::ErrorKind::FileTooLarge, message);
        return Err(error_context(FileAction::Read, path)(source));
    }
    Ok(bytes)
}

/// Reads the first `most` bytes of a file, or all where it is shorter.
pub fn read_start(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    let file = std::fs::File::open(path).map_err(error_context(FileAction::Read, path))?;
    let mut bytes = Vec::new();
    let mut limited = file.take(max_bytes);
    limited
        .read_to_end(&mut bytes)
        .map_err(error_context(FileAction::Read, path))?;
    Ok(bytes)
}

/// Reads all of a file as text.
pub fn read_to_string(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(error_context(FileAction::Read, path))
}

/// Whether there is something at the path, links followed.
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// Whether the path names a folder, links followed.
pub fn is_dir(path: &Path) -> bool {
    path.is_dir()
}

/// Whether the path names a plain file, links followed.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Whether the path itself is a symbolic link.
pub fn is_symlink(path: &Path) -> bool {
    path.is_symlink()
}

/// Reads where a link leads.
pub fn read_link(path: &Path) -> Result<PathBuf, Error> {
    std::fs::read_link(path).map_err(error_context(FileAction::Read, path))
}

/// Whether another file system begins at a path.
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

/// Whether the path names a plain file that somebody may execute.
pub fn is_program(path: &Path) -> bool {
    is_file(path) && mode_of(path).is_ok_and(|mode| mode & 0o111 != 0)
}

/// Gives the permission bits of a file.
pub fn mode_of(path: &Path) -> Result<u32, Error> {
    let metadata = std::fs::metadata(path).map_err(error_context(FileAction::Inspect, path))?;
    Ok(metadata.permissions().mode() & 0o7777)
}

/// When a file was last written, if there is one.
pub fn modified_time(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

/// Gives the absolute path with all links resolved.
pub fn canonicalize(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize()
        .map_err(error_context(FileAction::Inspect, path))
}

/// Whether what is at the path, which may be a link itself, belongs to this user.
pub fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.uid() == nix::unistd::geteuid().as_raw())
}

/// Whether a path that starts in a folder stays in it, by its letters alone.
pub fn is_within(path: &Path) -> bool {
    let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    path.file_name().is_some() && path.components().all(stays)
}

/// Makes a path absolute, `.` and `..` taken out by their letters alone, as users read them.
pub fn absolute(path: &Path, base: &Path) -> PathBuf {
    normalize(&base.join(path))
}

/// Takes `.` and `..` out of a path by their letters alone.
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
            "could not read `/dev/zero`: it has more than 1 MiB"
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
    fn a_file_that_is_not_there_is_told_with_its_path() {
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
