//! Opens regular files only, without ever waiting, and reads them within a limit.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::fcntl::OFlag;

/// The flags of an open call that neither waits for the other end of a named pipe nor takes a terminal.
const WITHOUT_WAITING: OFlag = OFlag::O_NONBLOCK.union(OFlag::O_NOCTTY);

/// A file that is no regular one, such as a named pipe. Reading it could wait for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the path is a {kind}, not a regular file")]
pub struct NotRegular {
    pub kind: &'static str,
}

impl NotRegular {
    /// Returns the error for a file of this type; `None` for a regular file.
    pub(super) fn of(kind: FileType) -> Option<Self> {
        let kind = match kind {
            kind if kind.is_file() => return None,
            kind if kind.is_dir() => "folder",
            kind if kind.is_fifo() => "named pipe",
            kind if kind.is_socket() => "socket",
            _ => "device",
        };
        Some(Self { kind })
    }
}

impl From<NotRegular> for io::Error {
    fn from(error: NotRegular) -> Self {
        match error.kind {
            "folder" => Self::from_raw_os_error(nix::libc::EISDIR),
            _ => Self::new(ErrorKind::InvalidInput, error),
        }
    }
}

/// Opens a regular file for reading. Named pipes, devices, sockets and folders are refused, and the call never
/// waits.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Opening some devices has effects, so the path is checked first; the open file counts.
    if let Some(error) = NotRegular::of(std::fs::metadata(path)?.file_type()) {
        return Err(error.into());
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(WITHOUT_WAITING.bits());
    let file = options.open(path)?;
    check_regular(&file)?;
    Ok(file)
}

/// Opens an existing or new file for writing, without waiting for a reader of a named pipe. Named pipes, sockets
/// and folders are refused; a terminal and `/dev/null` are not.
pub(super) fn open_output(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    if let Ok(metadata) = std::fs::metadata(path)
        && !metadata.file_type().is_char_device()
    {
        if let Some(error) = NotRegular::of(metadata.file_type()) {
            return Err(error.into());
        }
        options.custom_flags(WITHOUT_WAITING.bits());
    }
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    match NotRegular::of(kind).filter(|_| !kind.is_char_device()) {
        Some(error) => Err(error.into()),
        None => Ok(file),
    }
}

/// Fails if the open file is no regular file. Returns its length.
pub fn check_regular(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    match NotRegular::of(metadata.file_type()) {
        Some(error) => Err(error.into()),
        None => Ok(metadata.len()),
    }
}

/// Reads a whole regular file, up to `max_bytes`.
///
/// Files of `/proc` have the length 0 and content nevertheless, so the limit counts bytes that were read.
pub(super) fn read_regular(file: &File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let length = check_regular(file)?;
    if length > max_bytes {
        return Err(too_large(max_bytes));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_large(max_bytes));
    }
    Ok(bytes)
}

pub(super) fn too_large(max_bytes: u64) -> io::Error {
    let limit = match max_bytes >> 20 {
        0 => format!("{max_bytes} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    };
    let message = format!("the file is larger than {limit}");
    io::Error::new(ErrorKind::FileTooLarge, message)
}
