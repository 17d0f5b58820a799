//! The files of a host over SFTP.
//!
//! Many parts of a file are transferred at the same time, which hides the network latency.

use std::sync::{Arc, Mutex, PoisonError};

use russh::client::Msg;
use russh::{Channel, ChannelMsg};
use russh_sftp::client::error::Error as SftpError;
use russh_sftp::client::{Config, RawSftpSession};
use russh_sftp::protocol::{FileAttributes, OpenFlags, Packet, StatusCode};
use tokio::task::JoinSet;

use super::download_limits::DownloadLimits;
use super::transfer_files::{
    Error, NewFile, TransferKind, UploadSource, join_path, temporary_sibling,
};
use super::transfer_progress::TransferProgress;

/// The maximum number of parts of one file in flight at the same time.
const MAX_PARTS_IN_FLIGHT: usize = 32;
/// The size of a part in bytes, unless the host limits it to less.
const PART_BYTES: u64 = 64 << 10;
/// The size of a part in bytes if the host reports no limit.
const DEFAULT_PART_BYTES: u64 = 32 << 10;
/// The time in seconds that the host may take to answer.
const ANSWER_TIMEOUT_SECONDS: u64 = 120;
/// The extension that replaces an existing file atomically.
const POSIX_RENAME_EXTENSION: &str = "posix-rename@openssh.com";
const LIMITS_EXTENSION: &str = "limits@openssh.com";

/// An SFTP session on a channel of a host.
pub(super) struct Sftp {
    session: Arc<RawSftpSession>,
    part: u64,
    can_replace: bool,
    progress: Arc<TransferProgress>,
    /// The temporary files of uploads that are not complete.
    partial_files: Mutex<Vec<String>>,
}

impl Sftp {
    /// Starts SFTP on a channel; none if the host does not offer it.
    pub(super) async fn open(
        mut channel: Channel<Msg>,
        progress: Arc<TransferProgress>,
    ) -> Option<Self> {
        channel.request_subsystem(true, "sftp").await.ok()?;
        loop {
            match channel.wait().await? {
                ChannelMsg::Success => break,
                ChannelMsg::Failure | ChannelMsg::Close => {
                    channel.close().await.ok();
                    return None;
                }
                _ => {}
            }
        }
        let config = Config {
            request_timeout_secs: ANSWER_TIMEOUT_SECONDS,
            ..Config::default()
        };
        let session = RawSftpSession::new_with_config(channel.into_stream(), config);
        let version = session.init().await.ok()?;
        let can_replace = version.extensions.contains_key(POSIX_RENAME_EXTENSION);
        let mut part = DEFAULT_PART_BYTES;
        if version.extensions.contains_key(LIMITS_EXTENSION)
            && let Ok(limits) = session.limits().await
        {
            let limit = limits.max_read_len.min(limits.max_write_len);
            part = if limit == 0 {
                PART_BYTES
            } else {
                PART_BYTES.min(limit)
            };
        }
        Some(Self {
            session: Arc::new(session),
            part,
            can_replace,
            progress,
            partial_files: Mutex::default(),
        })
    }

    pub(super) fn progress(&self) -> &Arc<TransferProgress> {
        &self.progress
    }

    /// Returns the kind of the entry that a path leads to; none if nothing exists there.
    pub(super) async fn kind(&self, path: &str) -> Result<Option<TransferKind>, Error> {
        match self.session.stat(path).await {
            Ok(found) => kind_of(path, &found.attrs).map(Some),
            Err(SftpError::Status(status)) if status.status_code == StatusCode::NoSuchFile => {
                Ok(None)
            }
            Err(error) => Err(failed("inspect", path, &error)),
        }
    }

    /// Lists the names and kinds of the entries in a folder.
    pub(super) async fn list(
        &self,
        path: &str,
        limits: &DownloadLimits,
    ) -> Result<Vec<(String, TransferKind)>, Error> {
        let read = |error: SftpError| failed("read", path, &error);
        let handle = self.session.opendir(path).await.map_err(read)?.handle;
        // The kind is none for an entry that is neither a file nor a folder, such as a link.
        let mut found: Vec<(String, Option<TransferKind>)> = Vec::new();
        loop {
            let files = match self.session.readdir(handle.as_str()).await {
                // A host that sends no names could do so for ever.
                Ok(names) if names.files.is_empty() => break,
                Ok(names) => names.files,
                Err(SftpError::Status(status)) if status.status_code == StatusCode::Eof => break,
                Err(error) => return Err(read(error)),
            };
            for file in files {
                let place = limits.add_entry(path, &file.filename)?;
                if file.filename != "." && file.filename != ".." {
                    let kind = kind_of(&place, &file.attrs).ok();
                    found.push((file.filename, kind));
                }
            }
        }
        self.session.close(handle).await.map_err(read)?;
        let mut all = Vec::with_capacity(found.len());
        for (name, kind) in found {
            let kind = match kind {
                Some(kind) => Some(kind),
                // The entry may be a symbolic link, so look at its target.
                None => self.kind(&join_path(path, &name)).await?,
            };
            all.extend(kind.map(|kind| (name, kind)));
        }
        Ok(all)
    }

    /// Makes a folder with this mode, unless it exists.
    pub(super) async fn make_folder(&self, path: &str, mode: Option<u32>) -> Result<(), Error> {
        let permissions = FileAttributes {
            permissions: mode,
            ..FileAttributes::empty()
        };
        let Err(error) = self.session.mkdir(path, permissions.clone()).await else {
            if mode.is_some() {
                // The umask of the host has removed permission bits.
                let set = self.session.setstat(path, permissions).await;
                set.map_err(|error| failed("make", path, &error))?;
            }
            return Ok(());
        };
        match self.kind(path).await {
            Ok(Some(TransferKind::Folder { .. })) => Ok(()),
            Ok(Some(TransferKind::File { .. })) => Err(Error::OtherKind {
                path: path.to_owned(),
                is_folder: false,
            }),
            _ => Err(failed("make", path, &error)),
        }
    }

    /// Writes a file under a temporary name and renames it.
    pub(super) async fn put(
        &self,
        source: UploadSource,
        target: &str,
        mode: Option<u32>,
    ) -> Result<u64, Error> {
        let temporary_path = temporary_sibling(target);
        self.partial_files().push(temporary_path.clone());
        let written = self.write(source, &temporary_path, target, mode).await;
        let placed = match written {
            Ok(bytes) => match self.replace(&temporary_path, target).await {
                Ok(()) => Ok(bytes),
                Err(error) => Err(self.other_kind(target).await.unwrap_or(error)),
            },
            Err(error) => Err(error),
        };
        if placed.is_err() {
            // Errors are ignored, as the file may not exist.
            self.session.remove(temporary_path.as_str()).await.ok();
        }
        self.partial_files().retain(|it| *it != temporary_path);
        placed
    }

    /// Returns the error for a folder that stands where a file is to be written.
    async fn other_kind(&self, target: &str) -> Option<Error> {
        let kind = self.kind(target).await.ok().flatten()?;
        kind.is_folder().then(|| Error::OtherKind {
            path: target.to_owned(),
            is_folder: true,
        })
    }

    async fn write(
        &self,
        source: UploadSource,
        half: &str,
        target: &str,
        mode: Option<u32>,
    ) -> Result<u64, Error> {
        let write = |error: SftpError| failed("write", target, &error);
        let flags = OpenFlags::CREATE | OpenFlags::EXCLUDE | OpenFlags::WRITE;
        let permissions = FileAttributes {
            permissions: mode,
            ..FileAttributes::empty()
        };
        let opened = self.session.open(half, flags, permissions.clone()).await;
        let handle: Arc<str> = opened.map_err(write)?.handle.into();
        let source = Arc::new(source);
        let size = source.len();
        let mut parts = JoinSet::new();
        let mut offset = 0;
        while offset < size || !parts.is_empty() {
            if offset < size && parts.len() < MAX_PARTS_IN_FLIGHT {
                let length = self.part.min(size - offset);
                let (session, source) = (Arc::clone(&self.session), Arc::clone(&source));
                let (handle, place) = (Arc::clone(&handle), target.to_owned());
                parts.spawn(async move {
                    let bytes = read_part(source, offset, length, &place).await?;
                    let written = session.write(handle.as_ref(), offset, bytes).await;
                    let written = written.map_err(|error| failed("write", &place, &error));
                    written.map(|_| length)
                });
                offset += length;
            } else if let Some(part) = parts.join_next().await {
                let length = part.map_err(|_| interrupted("write", target))??;
                self.progress.add(length);
            }
        }
        if mode.is_some() {
            // The umask of the host has removed permission bits.
            let set = self.session.fsetstat(handle.as_ref(), permissions).await;
            set.map_err(write)?;
        }
        let closed = self.session.close(handle.as_ref()).await;
        closed.map_err(write)?;
        Ok(size)
    }

    async fn replace(&self, half: &str, target: &str) -> Result<(), Error> {
        let moved = |error: SftpError| failed("write", target, &error);
        if self.can_replace {
            let mut names = Vec::new();
            for name in [half, target] {
                let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
                names.extend(length.to_be_bytes());
                names.extend(name.as_bytes());
            }
            return match self
                .session
                .extended(POSIX_RENAME_EXTENSION, names)
                .await
                .map_err(moved)?
            {
                Packet::Status(status) if status.status_code == StatusCode::Ok => Ok(()),
                Packet::Status(status) => Err(moved(SftpError::Status(status))),
                _ => Err(moved(SftpError::UnexpectedPacket)),
            };
        }
        if self.session.rename(half, target).await.is_ok() {
            return Ok(());
        }
        // Without the extension, the target must be removed first, which is not atomic.
        self.session.remove(target).await.map_err(moved)?;
        let renamed = self.session.rename(half, target).await;
        renamed.map(|_| ()).map_err(moved)
    }

    /// Reads a file into a local one and returns its length in bytes.
    pub(super) async fn get(&self, path: &str, into: NewFile) -> Result<(NewFile, u64), Error> {
        let read = |error: SftpError| failed("read", path, &error);
        let opened = self
            .session
            .open(path, OpenFlags::READ, FileAttributes::empty())
            .await;
        let handle: Arc<str> = opened.map_err(read)?.handle.into();
        let attributes = self.session.fstat(handle.as_ref()).await.map_err(read)?;
        let size = attributes.attrs.size.unwrap_or_default();
        into.check_size(size, path)?;
        let into = Arc::new(into);
        let part = || FilePart {
            session: Arc::clone(&self.session),
            handle: Arc::clone(&handle),
            into: Arc::clone(&into),
            path: path.to_owned(),
        };
        let mut parts = JoinSet::new();
        let mut offset = 0;
        // The end of the file, if it comes before the stated size, as in `/sys`.
        let mut early_end: Option<u64> = None;
        while (offset < size && early_end.is_none()) || !parts.is_empty() {
            if offset < size && early_end.is_none() && parts.len() < MAX_PARTS_IN_FLIGHT {
                let end = size.min(offset + self.part);
                let part = part();
                parts.spawn(async move { Ok((part.read(offset, Some(end)).await?, end)) });
                offset = end;
            } else if let Some(part) = parts.join_next().await {
                let (reached, end) = part.map_err(|_| interrupted("read", path))??;
                if reached < end {
                    early_end = Some(early_end.map_or(reached, |before| before.min(reached)));
                }
            }
        }
        let end = match early_end {
            Some(end) => {
                into.cut(end)?;
                end
            }
            // Some files, such as those in `/proc`, report no length, so read on to the end.
            None => part().read(size, None).await?,
        };
        self.session.close(handle.as_ref()).await.map_err(read)?;
        let into = Arc::into_inner(into).ok_or_else(|| interrupted("read", path))?;
        Ok((into, end))
    }

    /// Returns a path with all links resolved.
    pub(super) async fn canonical_path(&self, path: &str) -> Option<String> {
        let names = self.session.realpath(path).await.ok()?;
        names.files.into_iter().next().map(|file| file.filename)
    }

    /// Deletes the temporary files of incomplete uploads.
    pub(super) async fn remove_partial_files(&self) {
        let halves = std::mem::take(&mut *self.partial_files());
        for half in halves {
            // Errors are ignored, as the file may not exist.
            self.session.remove(half).await.ok();
        }
    }

    fn partial_files(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.partial_files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader for a part of a file.
struct FilePart {
    session: Arc<RawSftpSession>,
    handle: Arc<str>,
    into: Arc<NewFile>,
    path: String,
}

impl FilePart {
    /// Reads up to `end`, or up to the end of the file if none, and returns the offset reached.
    async fn read(&self, mut offset: u64, end: Option<u64>) -> Result<u64, Error> {
        while end.is_none_or(|end| offset < end) {
            let limit = end.map_or(DEFAULT_PART_BYTES, |end| end - offset);
            let length = u32::try_from(limit).unwrap_or(u32::MAX);
            let answer = self.session.read(self.handle.as_ref(), offset, length);
            let bytes = match answer.await {
                Ok(data) if data.data.is_empty() => return Ok(offset),
                Ok(data) => data.data,
                Err(SftpError::Status(status)) if status.status_code == StatusCode::Eof => {
                    return Ok(offset);
                }
                Err(error) => return Err(failed("read", &self.path, &error)),
            };
            let count = bytes.len() as u64;
            if count > limit {
                return Err(Error::Failed {
                    operation: "read",
                    path: self.path.clone(),
                    why: "the host sent more bytes than it was asked for".to_owned(),
                });
            }
            let (into, path) = (Arc::clone(&self.into), self.path.clone());
            let writing = tokio::task::spawn_blocking(move || into.write(&bytes, offset, &path));
            writing
                .await
                .map_err(|_| interrupted("read", &self.path))??;
            offset += count;
        }
        Ok(offset)
    }
}

async fn read_part(
    source: Arc<UploadSource>,
    offset: u64,
    length: u64,
    place: &str,
) -> Result<Vec<u8>, Error> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let reading = tokio::task::spawn_blocking(move || source.part(offset, length));
    let read = reading.await.map_err(|_| interrupted("write", place))?;
    let why = match read {
        Ok(bytes) if bytes.len() == length => return Ok(bytes),
        Ok(_) => "the file became shorter during the transfer".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Error::Failed {
        operation: "write",
        path: place.to_owned(),
        why,
    })
}

fn kind_of(path: &str, attributes: &FileAttributes) -> Result<TransferKind, Error> {
    if attributes.is_dir() {
        return Ok(TransferKind::Folder {
            mode: attributes.permissions.unwrap_or(0o755) & 0o777,
        });
    }
    if attributes.is_regular() {
        return Ok(TransferKind::File {
            mode: attributes.permissions.unwrap_or(0o644) & 0o777,
            size: attributes.size.unwrap_or_default(),
        });
    }
    Err(Error::NoFile(path.to_owned()))
}

fn interrupted(what: &'static str, path: &str) -> Error {
    Error::Failed {
        operation: what,
        path: path.to_owned(),
        why: "the transfer was stopped".to_owned(),
    }
}

fn failed(what: &'static str, path: &str, error: &SftpError) -> Error {
    let why = match error {
        SftpError::Status(status) => match status.status_code {
            StatusCode::NoSuchFile => "no such file or folder".to_owned(),
            StatusCode::PermissionDenied => "permission denied".to_owned(),
            _ if status.error_message.is_empty() => "the host gave no reason".to_owned(),
            _ => status.error_message.to_lowercase(),
        },
        SftpError::Timeout => "the host does not answer".to_owned(),
        _ => "the connection was lost".to_owned(),
    };
    Error::Failed {
        operation: what,
        path: path.to_owned(),
        why,
    }
}
