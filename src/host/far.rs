//! Files of another place, by SFTP where there is that, otherwise by the programs there.

use super::sftp::Sftp;
use super::stream::Programs;
use super::tree::{Error, Kind, NewFile, Source};
use super::way::Way;

/// Files of another place.
pub(super) enum Far<'a> {
    Sftp(Sftp),
    Programs(Programs<'a>),
}

impl<'a> Far<'a> {
    pub(super) fn programs(way: &'a Way) -> Self {
        Self::Programs(Programs::new(way))
    }

    /// What a path leads to; none if nothing is there.
    pub(super) async fn kind(&self, path: &str) -> Result<Option<Kind>, Error> {
        match self {
            Self::Sftp(sftp) => sftp.kind(path).await,
            Self::Programs(programs) => programs.kind(path).await,
        }
    }

    /// Where a path leads to, all links followed, as far as that is known.
    pub(super) async fn real(&self, path: &str) -> String {
        let real = match self {
            Self::Sftp(sftp) => sftp.real(path).await,
            Self::Programs(_) => None,
        };
        real.unwrap_or_else(|| path.to_owned())
    }

    /// What is in a folder.
    pub(super) async fn list(&self, path: &str) -> Result<Vec<(String, Kind)>, Error> {
        match self {
            Self::Sftp(sftp) => sftp.list(path).await,
            Self::Programs(programs) => programs.list(path).await,
        }
    }

    /// Makes a folder, unless it is there.
    pub(super) async fn make_folder(&self, path: &str) -> Result<(), Error> {
        match self {
            Self::Sftp(sftp) => sftp.make_folder(path).await,
            Self::Programs(programs) => programs.make_folder(path).await,
        }
    }

    /// Writes a file, and gives its length in bytes.
    pub(super) async fn put(
        &self,
        source: Source,
        target: &str,
        mode: Option<u32>,
    ) -> Result<u64, Error> {
        match self {
            Self::Sftp(sftp) => sftp.put(source, target, mode).await,
            Self::Programs(programs) => programs.put(&source, target, mode).await,
        }
    }

    /// Reads a file, and gives its length in bytes.
    pub(super) async fn get(&self, path: &str, into: NewFile) -> Result<(NewFile, u64), Error> {
        match self {
            Self::Sftp(sftp) => sftp.get(path, into).await,
            Self::Programs(programs) => {
                let length = programs.get(path, &into).await?;
                Ok((into, length))
            }
        }
    }

    /// Deletes what was left half there.
    pub(super) async fn clean(&self) {
        if let Self::Sftp(sftp) = self {
            sftp.clean().await;
        }
    }
}
