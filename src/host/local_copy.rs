//! File transfers on the local machine, which are plain copies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::download_limits::DownloadLimits;
use super::local_home::local_home;
use super::transfer_files::{
    Error, NewFile, NewFileMode, TransferItem, TransferKind, UploadSource, file_name, local_target,
    make_local_folder, walk,
};
use super::transfer_globs::expand_local;
use super::{Content, Get, Put};
use crate::system::fs;

/// The permission bits of new files for which none are given.
const NEW_FILE_MODE: u32 = 0o644;
/// The number of bytes copied at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// The number and total size of transferred files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TransferCount {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// The entries that only the target of a mirrored folder has.
    pub(super) surplus: Vec<String>,
}

impl TransferCount {
    /// Returns the count of a single file.
    pub(super) fn of_file(bytes: u64) -> Self {
        Self {
            files: 1,
            bytes,
            surplus: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.surplus.extend(other.surplus);
    }
}

/// Performs a [`Put`] without settings whose target is the local machine.
pub(super) fn put(put: &Put) -> Result<TransferCount, Error> {
    let target = from_home(&put.target);
    match &put.source {
        Content::Path(path) => {
            let mut count = TransferCount::default();
            for path in expand_local(path)? {
                count.add(copy(&path, &target, put.mode, None)?);
            }
            Ok(count)
        }
        Content::Bytes(bytes) => {
            if put.target.ends_with('/') || fs::is_dir(&target) {
                return Err(Error::NoName(put.target.clone()));
            }
            let source = UploadSource::Bytes(bytes.clone());
            let mode = put.mode.unwrap_or(NEW_FILE_MODE);
            let target = NewFile::create(&target, NewFileMode::Exact(mode), &no_limits())?;
            let bytes = copy_file(&source, target, "the text")?;
            Ok(TransferCount::of_file(bytes))
        }
    }
}

/// Performs a [`Get`] without settings whose source is the local machine.
pub(super) fn get(get: &Get) -> Result<TransferCount, Error> {
    let limits = get
        .max_bytes
        .map(|max| Arc::new(DownloadLimits::new(Some(max), Arc::default())));
    copy(&from_home(&get.source), &get.target, None, limits)
}

/// Returns the limits of a copy whose source is not that of a host.
fn no_limits() -> Arc<DownloadLimits> {
    Arc::new(DownloadLimits::new(Some(u64::MAX), Arc::default()))
}

fn copy(
    source: &Path,
    target: &Path,
    mode: Option<u32>,
    limits: Option<Arc<DownloadLimits>>,
) -> Result<TransferCount, Error> {
    let items = walk(source)?;
    let limits = limits.unwrap_or_else(no_limits);
    let mut count = TransferCount::default();
    for item in &items {
        let TransferItem {
            path,
            relative_path: below,
            kind,
        } = item;
        let target_path = match (items.first(), below.as_str()) {
            // A single file may be copied into an existing folder.
            (Some(first), "") if !first.kind.is_folder() => local_target(target, file_name(path)),
            (_, "") => target.to_owned(),
            (_, below) => target.join(below),
        };
        match kind {
            TransferKind::Folder { .. } => make_local_folder(&target_path, *kind)?,
            TransferKind::File { mode: own, size } => {
                let source = UploadSource::open(Path::new(path), *size)?;
                let mode = mode.map_or(NewFileMode::Copied(*own), NewFileMode::Exact);
                let target = NewFile::create(&target_path, mode, &limits)?;
                count.bytes += copy_file(&source, target, path)?;
                count.files += 1;
            }
        }
    }
    Ok(count)
}

fn copy_file(source: &UploadSource, new: NewFile, path: &str) -> Result<u64, Error> {
    let failed = |error: std::io::Error| Error::new("read", Path::new(path), &error);
    let mut offset = 0;
    loop {
        let part = source.part(offset, CHUNK_BYTES).map_err(failed)?;
        if part.is_empty() {
            break;
        }
        new.write(&part, offset, path)?;
        offset += part.len() as u64;
    }
    new.finish()?;
    Ok(offset)
}

/// Returns a local path. Relative paths start at the user's home.
fn from_home(path: &str) -> PathBuf {
    let below = path.strip_prefix("~/").unwrap_or(path);
    if below.starts_with('/') {
        return PathBuf::from(below);
    }
    match below {
        "" | "~" => local_home(),
        below => local_home().join(below),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test sets its stage by itself")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::host::{GetSettings, PutSettings};

    fn put_of(source: Content, target: &Path) -> Put {
        Put {
            source,
            target: target.display().to_string(),
            mode: None,
            settings: PutSettings::default(),
            time_limit: None,
        }
    }

    #[test]
    fn a_folder_is_copied_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        std::fs::create_dir_all(from.join("deep/er")).unwrap();
        std::fs::create_dir(from.join("empty")).unwrap();
        std::fs::write(from.join("deep/er/a"), "one").unwrap();
        std::fs::write(from.join("b"), "two").unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(from.join("b"), mode).unwrap();
        let to = folder.path().join("to");
        let count = put(&put_of(Content::Path(from), &to)).unwrap();
        assert_eq!((count.files, count.bytes), (2, 6));
        assert_eq!(std::fs::read(to.join("deep/er/a")).unwrap(), b"one");
        assert!(to.join("empty").is_dir());
        let mode = std::fs::metadata(to.join("b")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o755);
        let back = Get {
            source: to.join("b").display().to_string(),
            target: folder.path().to_owned(),
            max_bytes: None,
            settings: GetSettings::default(),
            time_limit: None,
        };
        assert_eq!(get(&back).unwrap().files, 1);
        assert_eq!(std::fs::read(folder.path().join("b")).unwrap(), b"two");
    }

    #[test]
    fn bytes_replace_a_file_and_do_not_go_into_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, "a long text").unwrap();
        put(&put_of(Content::Bytes(b"new".to_vec()), &file)).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        let error = put(&put_of(Content::Bytes(Vec::new()), folder.path())).unwrap_err();
        assert_eq!(error, Error::NoName(folder.path().display().to_string()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_that_leads_back_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("me")).unwrap();
        let error = walk(folder.path()).unwrap_err();
        assert!(
            matches!(error, Error::Loop(_) | Error::Failed { .. }),
            "{error}"
        );
    }
}
