//! The limits of one download: its size, the number of its entries, and their names.
//!
//! The host decides what it sends. Without limits it could fill the disk or the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::transfer_error::{Error, MAX_ENTRIES};
use super::transfer_progress::TransferProgress;

/// The maximum number of bytes of a download for which no limit is given.
pub(super) const DEFAULT_MAX_BYTES: u64 = 10 << 30;
/// The maximum number of bytes of all paths of a download, which are in memory together.
const MAX_PATHS_BYTES: u64 = 256 << 20;
/// The maximum length of a name and of a path in bytes, as on Linux.
const MAX_NAME_BYTES: usize = 255;
const MAX_PATH_BYTES: usize = 4096;

/// A counter of what a download has brought so far. All files of the download share it.
#[derive(Debug)]
pub(super) struct DownloadLimits {
    max_bytes: u64,
    progress: Arc<TransferProgress>,
    entries: AtomicU64,
    paths: AtomicU64,
}

impl DownloadLimits {
    /// Creates the limits of a download; the default size if none is given. `progress` counts what arrives.
    pub(super) fn new(max_bytes: Option<u64>, progress: Arc<TransferProgress>) -> Self {
        Self {
            max_bytes: max_bytes.unwrap_or(DEFAULT_MAX_BYTES),
            progress,
            entries: AtomicU64::new(0),
            paths: AtomicU64::new(0),
        }
    }

    /// Counts bytes of a file before they are written.
    pub(super) fn add_bytes(&self, path: &str, count: u64) -> Result<(), Error> {
        let before = self.progress.add(count);
        if before.saturating_add(count) > self.max_bytes {
            return Err(self.too_large(path));
        }
        Ok(())
    }

    /// Checks a size that the host states, before anything is read.
    pub(super) fn check_size(&self, path: &str, size: u64) -> Result<(), Error> {
        if self.progress.bytes().saturating_add(size) > self.max_bytes {
            return Err(self.too_large(path));
        }
        Ok(())
    }

    fn too_large(&self, path: &str) -> Error {
        Error::TooLarge {
            path: path.to_owned(),
            max: self.max_bytes,
        }
    }

    /// Counts an entry of a folder and checks its name. Returns the path of the entry.
    pub(super) fn add_entry(&self, folder: &str, name: &str) -> Result<String, Error> {
        let path = format!("{}/{name}", folder.trim_end_matches('/'));
        if self.entries.fetch_add(1, Ordering::Relaxed) >= MAX_ENTRIES {
            return Err(Error::TooManyEntries(folder.to_owned()));
        }
        if name.is_empty() || name.contains('/') || name.contains(char::is_control) {
            return Err(Error::Name(path));
        }
        if name.len() > MAX_NAME_BYTES || path.len() > MAX_PATH_BYTES {
            return Err(Error::LongName(path));
        }
        let length = path.len() as u64;
        if self.paths.fetch_add(length, Ordering::Relaxed) + length > MAX_PATHS_BYTES {
            return Err(Error::TooManyEntries(folder.to_owned()));
        }
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_file_system_or_a_terminal_would_misread_are_refused() {
        let limits = DownloadLimits::new(None, Arc::default());
        for name in ["a", "-rf", "it's", "é", " ", "a\u{a0}b", "\u{fffd}"] {
            assert_eq!(limits.add_entry("/d", name).unwrap(), format!("/d/{name}"));
        }
        for name in ["", "a/b", "a\nb", "\u{1b}]0;x", "\u{7f}", "\u{9b}2J", "a\0"] {
            assert!(limits.add_entry("/d", name).is_err(), "{name:?}");
        }
        let error = limits.add_entry("/d", "a\n\u{1b}[2J").unwrap_err();
        insta::assert_snapshot!(error, @r"`/d/a\n\u{1b}[2J` cannot be transferred: its name is empty, is not UTF-8, or contains `/` or control characters; rename it first");
        assert!(limits.add_entry("/d", &"a".repeat(256)).is_err());
        let mut deep = String::new();
        while limits.add_entry(&deep, &"a".repeat(200)).is_ok() {
            deep = format!("{deep}/{}", "a".repeat(200));
        }
        assert!(deep.len() <= MAX_PATH_BYTES);
    }

    #[test]
    fn entries_and_bytes_have_limits() {
        let limits = DownloadLimits::new(Some(10), Arc::default());
        assert!(limits.check_size("a", 10).is_ok());
        assert!(limits.add_bytes("a", 10).is_ok());
        let error = limits.add_bytes("a", 1).unwrap_err();
        insta::assert_snapshot!(error, @"the download of `a` exceeds the limit of 10 bytes; `--max-size`, or `max_size` of a task's step, raises the limit");
        assert!(limits.check_size("b", u64::MAX).is_err());
        let taken = (0..=MAX_ENTRIES).find(|_| limits.add_entry("d", "n").is_err());
        assert_eq!(taken, Some(MAX_ENTRIES));
    }
}
