//! Files and folders of this machine, as transfers see them: what a folder holds, and files that
//! are written beside their place and moved there once they are whole.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::system::fs;

/// How deep folders may lie in each other; more is taken for a link that leads back.
pub(super) const MAX_DEPTH: usize = 128;
/// The bits of a mode that are carried over.
const PERMISSIONS: u32 = 0o7777;

/// Why a transfer did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    /// Something could not be done with a file.
    #[error("could not {what} `{path}`: {why}")]
    Failed {
        /// What was to be done.
        what: &'static str,
        /// The file or folder.
        path: String,
        /// What the system or the host said.
        why: String,
    },
    /// Bytes were to go into a folder.
    #[error("`{0}` is a folder, and bytes have no name that they could have in it")]
    NoName(String),
    /// It is a socket, a device or such.
    #[error("`{0}` is neither a file nor a folder")]
    NoFile(String),
    /// A link leads back to where it is.
    #[error("the folders in `{0}` do not end: a link leads back")]
    Loop(String),
    /// A name is not text, or would lead elsewhere.
    #[error("`{0}` has a name that cannot be transferred")]
    Name(String),
    /// The place was not reached.
    #[error("{0}")]
    Exit(super::Exit),
}

impl Error {
    pub(super) fn new(what: &'static str, path: &Path, error: &std::io::Error) -> Self {
        Self::Failed {
            what,
            path: path.display().to_string(),
            why: fs::os_message(error).to_lowercase(),
        }
    }
}

/// What a path leads to; links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransferKind {
    /// A folder.
    Folder,
    /// A file.
    File {
        /// Its permission bits.
        mode: u32,
        /// Its length in bytes.
        size: u64,
    },
}

impl TransferKind {
    /// What these data tell about a path of this machine.
    fn of(path: &Path, metadata: &Metadata) -> Result<Self, Error> {
        if metadata.is_dir() {
            return Ok(Self::Folder);
        }
        if metadata.is_file() {
            return Ok(Self::File {
                mode: metadata.permissions().mode() & PERMISSIONS,
                size: metadata.len(),
            });
        }
        Err(Error::NoFile(path.display().to_string()))
    }
}

/// A file or folder below another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TransferItem {
    /// Its path on the side where it is.
    pub(super) path: String,
    /// Its path below the one it was found in; empty for that one itself.
    pub(super) relative_path: String,
    pub(super) kind: TransferKind,
}

/// All that is in a folder of this machine, each folder before what is in it; a file alone.
pub(super) fn walk(root: &Path) -> Result<Vec<TransferItem>, Error> {
    let mut items = Vec::new();
    let mut waiting = vec![(root.to_owned(), String::new(), 0)];
    while let Some((path, below, depth)) = waiting.pop() {
        let read = |error: std::io::Error| Error::new("read", &path, &error);
        let kind = TransferKind::of(&path, &std::fs::metadata(&path).map_err(read)?)?;
        if depth > MAX_DEPTH {
            return Err(Error::Loop(root.display().to_string()));
        }
        let name = path.to_str().map(str::to_owned);
        let unnamed = || Error::Name(path.display().to_string());
        items.push(TransferItem {
            path: name.ok_or_else(unnamed)?,
            relative_path: below.clone(),
            kind,
        });
        if kind != TransferKind::Folder {
            continue;
        }
        for entry in std::fs::read_dir(&path).map_err(read)? {
            let entry = entry.map_err(read)?;
            let name = entry.file_name();
            let name = name.to_str().ok_or_else(unnamed)?;
            waiting.push((entry.path(), join_path(&below, name), depth + 1));
        }
    }
    Ok(items)
}

/// A path below a folder.
pub(super) fn join_path(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}

/// The last name of a path.
pub(super) fn file_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// The name of a file beside a path, that nobody else has.
pub(super) fn temporary_sibling(path: &str) -> String {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), path),
    };
    format!("{folder}.{name}.unfurl-{}", ulid::Ulid::generate())
}

/// Where a file of this name goes on this machine.
pub(super) fn local_target(target: &Path, name: &str) -> PathBuf {
    let is_folder = target.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder || fs::is_dir(target) {
        target.join(name)
    } else {
        target.to_owned()
    }
}

/// What is read on this machine to be taken elsewhere.
#[derive(Debug)]
pub(super) enum UploadSource {
    /// A file and its length.
    File(File, u64),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl UploadSource {
    pub(super) fn open(path: &Path, size: u64) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| Error::new("read", path, &error))?;
        Ok(Self::File(file, size))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// The bytes of one part; fewer where the file has become shorter.
    pub(super) fn part(&self, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
        match self {
            Self::File(file, _) => {
                let mut part = vec![0; length];
                let mut read = 0;
                while read < length {
                    match file.read_at(&mut part[read..], offset + read as u64)? {
                        0 => break,
                        count => read += count,
                    }
                }
                part.truncate(read);
                Ok(part)
            }
            Self::Bytes(bytes) => {
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let end = start.saturating_add(length).min(bytes.len());
                Ok(bytes[start..end].to_vec())
            }
        }
    }
}

/// A file of this machine that is being written beside its place. It is deleted unless it gets
/// there.
#[derive(Debug)]
pub(super) struct NewFile {
    target: PathBuf,
    temporary_path: Option<PathBuf>,
    file: File,
}

impl NewFile {
    /// Begins a file, and makes the folders that it is in.
    pub(super) fn create(target: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::new("write", target, &error);
        if let Some(folder) = target.parent().filter(|it| !it.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| failed(std::io::Error::other(error)))?;
        }
        // What a link leads to is written, and the link stays.
        let target = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let path = PathBuf::from(temporary_sibling(&target.to_string_lossy()));
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        Ok(Self {
            file: file.map_err(failed)?,
            target,
            temporary_path: Some(path),
        })
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Moves it to its place.
    pub(super) fn finish(mut self, mode: u32) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::new("write", &self.target, &error);
        let permissions = Permissions::from_mode(mode & PERMISSIONS);
        self.file.set_permissions(permissions).map_err(failed)?;
        if let Some(path) = &self.temporary_path {
            fs::rename(path, &self.target).map_err(|error| failed(std::io::Error::other(error)))?;
        }
        self.temporary_path = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(path) = self.temporary_path.take() {
            // Half of it is of no use to anybody.
            fs::remove_file(&path).ok();
        }
    }
}
