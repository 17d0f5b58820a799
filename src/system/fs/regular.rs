//! Makes sure that an open file is a regular one, and reads it within a limit.

use std::fs::{File, FileType};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::FileTypeExt as _;

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
            kind if kind.is_symlink() => "symbolic link",
            _ => "device",
        };
        Some(Self { kind })
    }
}

impl From<NotRegular> for io::Error {
    fn from(error: NotRegular) -> Self {
        let kind = match error.kind {
            "folder" => ErrorKind::IsADirectory,
            _ => ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

/// Fails if the open file is no regular file. Returns its length.
pub(super) fn check_regular(file: &File) -> io::Result<u64> {
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

fn too_large(max_bytes: u64) -> io::Error {
    let limit = match max_bytes >> 20 {
        0 => format!("{max_bytes} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    };
    let message = format!("the file is larger than {limit}");
    io::Error::new(ErrorKind::FileTooLarge, message)
}
