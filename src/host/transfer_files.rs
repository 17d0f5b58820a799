//! The local side of transfers: listing a folder, reading a source, and writing a target.
//!
//! A target is written under a temporary name and renamed when it is complete.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::download_limits::DownloadLimits;
pub(super) use super::transfer_error::Error;
use crate::system::fs;

/// The maximum nesting of folders. Deeper nesting is taken for a link that leads back.
pub(super) const MAX_DEPTH: usize = 128;
/// The mode bits that a transfer copies: neither set-user-ID, set-group-ID nor the sticky bit.
const PERMISSIONS: u32 = 0o777;
/// The number of bytes read at a time for a digest.
const DIGEST_BYTES: usize = 1 << 20;
/// The mode bits that a user may ask for.
const ALL_MODE_BITS: u32 = 0o7777;

/// The kind of the entry that a path leads to. Links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransferKind {
    Folder { mode: u32 },
    File { mode: u32, size: u64 },
}

impl TransferKind {
    /// Returns the kind of a local path with this metadata.
    fn from_metadata(path: &Path, metadata: &Metadata) -> Result<Self, Error> {
        let mode = metadata.permissions().mode() & PERMISSIONS;
        if metadata.is_dir() {
            return Ok(Self::Folder { mode });
        }
        if metadata.is_file() {
            let size = metadata.len();
            return Ok(Self::File { mode, size });
        }
        Err(Error::NoFile(path.display().to_string()))
    }

    pub(super) fn is_folder(self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// Returns the mode of a new folder with the permissions of this one.
    ///
    /// The owner can always enter it and write into it: the copy of its files needs that, and the next copy, too.
    pub(super) fn new_folder_mode(self) -> u32 {
        match self {
            Self::Folder { mode } => mode & PERMISSIONS | 0o700,
            Self::File { .. } => 0o755,
        }
    }
}

/// A file or folder to transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TransferItem {
    /// The path on the side of the source.
    pub(super) path: String,
    /// The path below the root of the transfer; empty for the root itself.
    pub(super) relative_path: String,
    pub(super) kind: TransferKind,
}

/// Lists a local folder recursively, or a single file. Each folder comes before its entries.
///
/// Links are followed. Fails if a link leads back to a folder that contains it.
pub(super) fn walk(root: &Path) -> Result<Vec<TransferItem>, Error> {
    let mut items = Vec::new();
    let mut waiting = vec![(root.to_owned(), String::new(), Rc::new(Vec::new()))];
    while let Some((path, below, folders)) = waiting.pop() {
        let read = |error: std::io::Error| Error::new("read", &path, &error);
        let metadata = std::fs::metadata(&path).map_err(read)?;
        let kind = TransferKind::from_metadata(&path, &metadata)?;
        let name = path.to_str().map(str::to_owned);
        items.push(TransferItem {
            path: name.ok_or_else(|| Error::Name(path.display().to_string()))?,
            relative_path: below.clone(),
            kind,
        });
        if !kind.is_folder() {
            continue;
        }
        let id = (metadata.dev(), metadata.ino());
        if folders.len() > MAX_DEPTH || folders.contains(&id) {
            return Err(Error::Loop(path.display().to_string()));
        }
        let mut folders = Vec::clone(&folders);
        folders.push(id);
        let folders = Rc::new(folders);
        for entry in std::fs::read_dir(&path).map_err(read)? {
            let entry = entry.map_err(read)?;
            let (place, name) = (entry.path(), entry.file_name());
            let name = name.to_str();
            let name = name.ok_or_else(|| Error::Name(place.display().to_string()))?;
            let below = join_path(&below, name);
            waiting.push((place, below, Rc::clone(&folders)));
        }
    }
    Ok(items)
}

/// Makes a local folder with these permissions, without the bits of the umask. Others never get the permission to write,
/// whatever a host says. A folder that exists keeps its own.
pub(super) fn make_local_folder(path: &Path, kind: TransferKind) -> Result<(), Error> {
    if fs::is_dir(path) {
        return Ok(());
    }
    let failed = |error: std::io::Error| Error::new("make", path, &error);
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| failed(std::io::Error::other(error)))?;
    }
    let made = DirBuilder::new()
        .mode(kind.new_folder_mode() & 0o755)
        .create(path);
    // Another transfer may make the folder at the same time.
    made.or_else(|error| {
        if fs::is_dir(path) {
            Ok(())
        } else {
            Err(failed(error))
        }
    })
}

/// Joins a folder and a name.
pub(super) fn join_path(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}

/// Returns the last component of a path.
pub(super) fn file_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns a unique hidden name in the same folder.
pub(super) fn temporary_sibling(path: &str) -> String {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), path),
    };
    format!("{folder}.{name}.unfurl-{}", ulid::Ulid::generate())
}

/// Returns the hidden name of an incomplete file with this digest, which a later transfer finds again.
pub(super) fn resumable_sibling(path: &str, digest: &str) -> String {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), path),
    };
    let key = digest.get(..16).unwrap_or(digest);
    format!("{folder}.{name}.unfurl-part-{key}")
}

/// Returns the local path for a file: `target`, or a path in `target` if that is a folder.
pub(super) fn local_target(target: &Path, name: &str) -> PathBuf {
    let is_folder = target.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder || fs::is_dir(target) {
        target.join(name)
    } else {
        target.to_owned()
    }
}

/// The source of an upload: an open file, or bytes in memory.
#[derive(Debug)]
pub(super) enum UploadSource {
    /// An open file and its size.
    File(File, u64),
    Bytes(Vec<u8>),
}

impl UploadSource {
    pub(super) fn open(path: &Path, size: u64) -> Result<Self, Error> {
        let file = fs::open_regular(path).map_err(|error| Error::new("read", path, &error))?;
        Ok(Self::File(file, size))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Returns the source and the SHA-256 digest of its bytes.
    pub(super) async fn with_digest(self, name: &str) -> Result<(Self, String), Error> {
        let digesting = tokio::task::spawn_blocking(move || {
            let mut digest = Sha256::new();
            let mut offset = 0;
            loop {
                let part = self.part(offset, DIGEST_BYTES)?;
                if part.is_empty() {
                    return Ok((self, crate::value::hex(&digest.finalize())));
                }
                digest.update(&part);
                offset += part.len() as u64;
            }
        });
        let stopped = || std::io::Error::other("the transfer was stopped");
        let digested = digesting
            .await
            .map_err(|_| stopped())
            .and_then(|result| result);
        digested.map_err(|error| Error::new("read", Path::new(name), &error))
    }

    /// Returns the bytes of a part. There are fewer if the file has become shorter.
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

/// The permission bits of a new local file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewFileMode {
    /// Exactly these, as the user asked for.
    Exact(u32),
    /// Those of a copied file, without the bits of the umask and without set-user-ID, set-group-ID
    /// and sticky bits. A host could otherwise make a program that gives away the user's rights.
    Copied(u32),
}

/// A local file that is written under a temporary name.
///
/// Dropping it without [`Self::finish`] deletes the file.
#[derive(Debug)]
pub(super) struct NewFile {
    target: PathBuf,
    temporary_path: Option<PathBuf>,
    file: File,
    mode: NewFileMode,
    limits: Arc<DownloadLimits>,
    /// True if an incomplete file stays for a later transfer.
    is_resumable: bool,
}

impl NewFile {
    /// Creates the temporary file, and the parent folders if they are missing.
    pub(super) fn create(
        target: &Path,
        mode: NewFileMode,
        limits: &Arc<DownloadLimits>,
    ) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::new("write", target, &error);
        if let Some(folder) = target.parent().filter(|it| !it.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| failed(std::io::Error::other(error)))?;
        }
        // A symbolic link stays, and the file that it leads to is replaced.
        let target = std::fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let path = PathBuf::from(temporary_sibling(&target.to_string_lossy()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // The system removes the bits of the umask.
        options.mode(match mode {
            NewFileMode::Exact(_) => 0o600,
            NewFileMode::Copied(mode) => mode & PERMISSIONS,
        });
        Ok(Self {
            file: options.open(&path).map_err(failed)?,
            target,
            temporary_path: Some(path),
            mode,
            limits: Arc::clone(limits),
            is_resumable: false,
        })
    }

    /// Opens the incomplete file of an earlier download, or creates it. Also returns its length.
    pub(super) fn resume(
        target: &Path,
        mode: NewFileMode,
        (limits, digest): (&Arc<DownloadLimits>, &str),
    ) -> Result<(Self, u64), Error> {
        let path = PathBuf::from(resumable_sibling(&target.to_string_lossy(), digest));
        // The incomplete file is the user's own, as all downloads are. A link could lead elsewhere.
        let own = std::fs::symlink_metadata(&path)
            .ok()
            .filter(Metadata::is_file);
        let mut file = Self::create(target, mode, limits)?;
        let Some(own) = own else {
            file.move_to(&path)?;
            return Ok((file, 0));
        };
        let failed = |error: std::io::Error| Error::new("write", &path, &error);
        let opened = OpenOptions::new().write(true).open(&path).map_err(failed)?;
        if let NewFileMode::Copied(mode) = mode {
            let permissions =
                Permissions::from_mode(own.permissions().mode() & mode & PERMISSIONS | 0o600);
            opened.set_permissions(permissions).map_err(failed)?;
        }
        let old = file.temporary_path.replace(path);
        if let Some(old) = old {
            fs::remove_file(&old).ok();
        }
        file.file = opened;
        file.is_resumable = true;
        Ok((file, own.len()))
    }

    /// Gives the incomplete file the name by which a later download finds it.
    fn move_to(&mut self, path: &Path) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::new("write", path, &error);
        if let Some(old) = &self.temporary_path {
            fs::rename(old, path).map_err(|error| failed(std::io::Error::other(error)))?;
        }
        self.temporary_path = Some(path.to_owned());
        self.is_resumable = true;
        Ok(())
    }

    /// Compares the whole file with a digest. A file that differs is deleted.
    pub(super) async fn verify(mut self, digest: &str, source: &str) -> Result<Self, Error> {
        let path = self.temporary_path.clone().unwrap_or_default();
        let (_, own) = UploadSource::open(&path, 0)?.with_digest(source).await?;
        if own == digest {
            return Ok(self);
        }
        self.is_resumable = false;
        Err(Error::Failed {
            operation: "copy",
            path: source.to_owned(),
            why: "the file arrived with another digest".to_owned(),
        })
    }

    /// Writes bytes that came from `source`, within the limits of the download.
    pub(super) fn write(&self, bytes: &[u8], offset: u64, source: &str) -> Result<(), Error> {
        self.limits.add_bytes(source, bytes.len() as u64)?;
        let written = self.file.write_all_at(bytes, offset);
        written.map_err(|error| Error::new("copy", Path::new(source), &error))
    }

    /// Checks the size that the host states for `source`.
    pub(super) fn check_size(&self, size: u64, source: &str) -> Result<(), Error> {
        self.limits.check_size(source, size)
    }

    /// Removes all bytes after this length.
    pub(super) fn cut(&self, length: u64) -> Result<(), Error> {
        let cut = self.file.set_len(length);
        cut.map_err(|error| Error::new("write", &self.target, &error))
    }

    /// Renames the file to its final path.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::new("write", &self.target, &error);
        if let NewFileMode::Exact(mode) = self.mode {
            let permissions = Permissions::from_mode(mode & ALL_MODE_BITS);
            self.file.set_permissions(permissions).map_err(failed)?;
        }
        if let Some(path) = &self.temporary_path {
            fs::rename(path, &self.target).map_err(|error| failed(std::io::Error::other(error)))?;
        }
        self.temporary_path = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(path) = self.temporary_path.take()
            && !self.is_resumable
        {
            // An incomplete file is useless.
            fs::remove_file(&path).ok();
        }
    }
}
