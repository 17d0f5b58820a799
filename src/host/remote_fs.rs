//! The file system of another location: over SFTP if the host offers it, otherwise with shell
//! programs.

use std::sync::Arc;

use super::download_limits::DownloadLimits;
use super::sftp::Sftp;
use super::shell_fs::{FsLogin, ShellFs};
use super::transfer_files::{Error, NewFile, TransferKind, UploadSource};
use super::transfer_progress::TransferProgress;
use super::transfer_settings::PutSettings;
use super::transport::Transport;

/// Access to the files of another location.
pub(super) enum RemoteFs<'a> {
    Sftp(Sftp),
    Shell(ShellFs<'a>),
}

impl<'a> RemoteFs<'a> {
    pub(super) fn shell(
        transport: &'a Transport,
        login: Option<FsLogin>,
        progress: &Arc<TransferProgress>,
    ) -> Self {
        Self::Shell(ShellFs::new(transport, login, progress))
    }

    /// Returns the counters of the transfer.
    pub(super) fn progress(&self) -> &Arc<TransferProgress> {
        match self {
            Self::Sftp(sftp) => sftp.progress(),
            Self::Shell(programs) => programs.progress(),
        }
    }

    /// Returns the kind of the entry that a path leads to; none if nothing exists there.
    pub(super) async fn kind(&self, path: &str) -> Result<Option<TransferKind>, Error> {
        match self {
            Self::Sftp(sftp) => sftp.kind(path).await,
            Self::Shell(programs) => programs.kind(path).await,
        }
    }

    /// Returns the path with all links resolved, or unchanged if that is not possible.
    pub(super) async fn canonical_path(&self, path: &str) -> String {
        let real = match self {
            Self::Sftp(sftp) => sftp.canonical_path(path).await,
            Self::Shell(_) => None,
        };
        real.unwrap_or_else(|| path.to_owned())
    }

    /// Lists the names and kinds of the entries in a folder.
    pub(super) async fn list(
        &self,
        path: &str,
        limits: &DownloadLimits,
    ) -> Result<Vec<(String, TransferKind)>, Error> {
        match self {
            Self::Sftp(sftp) => sftp.list(path, limits).await,
            Self::Shell(programs) => programs.list(path, limits).await,
        }
    }

    /// Makes folders with these modes, or those of new folders on the host, unless they exist. The first may lack its parents on a host without SFTP.
    ///
    /// Returns true if the host can unpack archives.
    pub(super) async fn make_folders(
        &self,
        folders: &[(String, Option<u32>)],
        owner: Option<&str>,
    ) -> Result<bool, Error> {
        match self {
            Self::Sftp(sftp) => {
                for (path, mode) in folders {
                    sftp.make_folder(path, *mode).await?;
                }
                Ok(false)
            }
            Self::Shell(programs) => programs.make_folders(folders, owner).await,
        }
    }

    /// Writes a file and returns its length in bytes.
    pub(super) async fn put(
        &self,
        source: UploadSource,
        target: &str,
        (mode, settings): (Option<u32>, &PutSettings),
    ) -> Result<u64, Error> {
        match self {
            Self::Sftp(sftp) => sftp.put(source, target, mode).await,
            Self::Shell(programs) => programs.put(source, target, (mode, settings)).await,
        }
    }

    /// Reads a file into a local one and returns its length in bytes.
    ///
    /// A `kept` length is what an interrupted download has left; only shell programs can go on from there.
    pub(super) async fn get(
        &self,
        path: &str,
        into: NewFile,
        kept: u64,
    ) -> Result<(NewFile, u64), Error> {
        match self {
            Self::Sftp(sftp) => sftp.get(path, into).await,
            Self::Shell(programs) => {
                let length = programs.get(path, &into, kept).await?;
                Ok((into, length))
            }
        }
    }

    /// Returns the SHA-256 digest of a file, which only shell programs can compute.
    pub(super) async fn digest(&self, path: &str) -> Result<Option<String>, Error> {
        match self {
            Self::Sftp(_) => Ok(None),
            Self::Shell(programs) => programs.digest(path).await.map(Some),
        }
    }

    /// Deletes incomplete files that interrupted uploads left behind.
    pub(super) async fn remove_partial_files(&self) {
        if let Self::Sftp(sftp) = self {
            sftp.remove_partial_files().await;
        }
    }
}
