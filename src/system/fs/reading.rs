//! Reads files and metadata, and normalizes paths.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::error::error_context;
use super::regular::{NotRegular, open_regular, read_regular, too_large};
use super::{Error, FileAction};

/// The largest file that [`read`] and [`read_to_string`] accept.
pub const MAX_READ_BYTES: u64 = 1 << 30;

/// Reads a whole regular file, up to [`MAX_READ_BYTES`].
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    read_within(path, MAX_READ_BYTES)
}

/// Reads a whole regular file, up to `max_bytes`. Never waits, for example for a writer of a named pipe.
///
/// # Errors
///
/// The file is larger, cannot be read, or is a pipe, device, socket or folder.
pub fn read_within(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Error> {
    open_regular(path)
        .and_then(|file| read_regular(&file, max_bytes))
        .map_err(error_context(FileAction::Read, path))
}

/// Reads a whole regular file as UTF-8 text, up to [`MAX_READ_BYTES`].
pub fn read_to_string(path: &Path) -> Result<String, Error> {
    String::from_utf8(read(path)?).map_err(|_| {
        let message = "stream did not contain valid UTF-8";
        let source = std::io::Error::new(std::io::ErrorKind::InvalidData, message);
        Error::new(FileAction::Read, path, source)
    })
}

/// Fails if the path is a pipe, a device or a socket. A path that does not exist is fine.
pub fn refuse_special(path: &Path) -> Result<(), Error> {
    refuse_special_or_larger(path, u64::MAX)
}

/// Fails if the path is a pipe, a device, a socket or a larger file. A path that does not exist is fine.
pub fn refuse_special_or_larger(path: &Path, max_bytes: u64) -> Result<(), Error> {
    let Ok(metadata) = std::fs::metadata(path) else {
        return Ok(());
    };
    let source = match NotRegular::of(metadata.file_type()) {
        _ if metadata.is_dir() => return Ok(()),
        Some(error) => error.into(),
        None if metadata.len() > max_bytes => too_large(max_bytes),
        None => return Ok(()),
    };
    Err(Error::new(FileAction::Read, path, source))
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

/// The folders of programs if no variable `PATH` names others.
pub const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the first program with a name in the folders of a `PATH`.
pub fn find_program<'p>(name: &str, mut folders: impl Iterator<Item = &'p str>) -> Option<PathBuf> {
    folders.find_map(|folder| {
        let file = Path::new(folder).join(name);
        is_program(&file).then_some(file)
    })
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

/// The identity of a file or folder: a replaced one has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
    /// The numeric id of the owner.
    pub owner: u32,
    /// The time of creation in seconds since 1970, if the file system knows it.
    pub created: Option<u64>,
}

/// Returns the identity of a file. A symbolic link is followed.
pub fn identity_of(path: &Path) -> Result<FileIdentity, Error> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = std::fs::metadata(path).map_err(error_context(FileAction::Inspect, path))?;
    let created = metadata.created().ok();
    let since = created.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    Ok(FileIdentity {
        device: metadata.dev(),
        inode: metadata.ino(),
        owner: metadata.uid(),
        created: since.map(|since| since.as_secs()),
    })
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

/// Returns the path of `path` from the folder `from`; `.` if both are the same. Both are normalized. Does not read the file
/// system.
pub fn relative_path(path: &Path, from: &Path) -> PathBuf {
    let pairs = path.components().zip(from.components());
    let common = pairs.take_while(|(left, right)| left == right).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(common)).collect();
    if relative.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        relative
    }
}

/// Returns the path of `path` from the folder `from`, beginning with a dot, as sources of Terraform's modules do.
pub fn dotted_path(path: &Path, from: &Path) -> PathBuf {
    let relative = relative_path(path, from);
    match relative.components().next() {
        Some(Component::Normal(_)) => Path::new(".").join(relative),
        _ => relative,
    }
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
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let cases: [(&Path, &str); 5] = [
            (&pipe, "the path is a named pipe, not a regular file"),
            (&socket, "the path is a socket, not a regular file"),
            (
                Path::new("/dev/zero"),
                "the path is a device, not a regular file",
            ),
            (
                Path::new("/dev/urandom"),
                "the path is a device, not a regular file",
            ),
            (folder.path(), "is a directory"),
        ];
        for (path, reason) in cases {
            let expected = format!("could not read `{}`: {reason}", path.display());
            let errors = [
                read(path).unwrap_err(),
                read_within(path, 9).unwrap_err(),
                read_to_string(path).unwrap_err(),
            ];
            for error in errors {
                assert_eq!(error.to_string(), expected);
            }
        }
        let error = read(&pipe).unwrap_err();
        assert!(
            error
                .hint()
                .unwrap()
                .contains("write the content to a file")
        );
    }

    #[test]
    fn a_file_is_read_up_to_a_limit_also_if_it_has_no_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(read_within(&path, 3).unwrap(), b"abc");
        assert!(read_within(&path, 2).is_err());
        std::fs::File::create(&path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("the file is larger than 1024 MiB"),
            "{error}"
        );
        let status = Path::new("/proc/self/status");
        assert!(read(status).unwrap().starts_with(b"Name:"));
        assert!(read_within(status, 5).is_err());
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
