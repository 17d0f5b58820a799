//! Reads facts of the local machine.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::accounts::AccountNames;
use crate::host::fact::{
    Fact, FactReading, FileKind, FileStat, MAX_CONTENT_BYTES, read_failure_message,
};
use crate::system::fs;
use crate::value::hex;

/// The mask of the permission bits in a mode.
const PERMISSIONS: u32 = 0o7777;
/// The number of bytes read at a time to compute a digest.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads facts of the local machine, one after the other.
///
/// Several facts about the same path in a row share its metadata.
#[derive(Debug, Default)]
pub(crate) struct FactReader {
    names: AccountNames,
    /// The path that was looked at last, without following a link. No metadata if it does not exist.
    last: Option<(String, Option<Metadata>)>,
}

impl FactReader {
    /// Reads a fact.
    ///
    /// None for a probe, which needs a command.
    pub(crate) fn read(&mut self, fact: &Fact) -> Option<FactReading> {
        Some(match fact {
            Fact::Path(path) => {
                let metadata = std::fs::symlink_metadata(path).ok();
                let reading = stat_path(Path::new(path), metadata.as_ref(), &mut self.names);
                self.last = Some((path.clone(), metadata));
                reading
            }
            Fact::Target(path) => {
                let metadata = self.target(path);
                stat_path(Path::new(path), metadata.as_ref(), &mut self.names)
            }
            Fact::Digest(path) => read_regular_file(path, self.target(path), digest),
            Fact::Content(path) => read_regular_file(path, self.target(path), content),
            Fact::Tree(path) => tree(Path::new(path), &mut self.names),
            Fact::Probe(_) => return None,
        })
    }

    /// Returns the metadata of what a path leads to. A path that was just looked at is not looked at again, unless it
    /// is a link.
    fn target(&self, path: &str) -> Option<Metadata> {
        match &self.last {
            Some((last, None)) if last == path => None,
            Some((last, Some(metadata))) if last == path && !metadata.is_symlink() => {
                Some(metadata.clone())
            }
            _ => std::fs::metadata(path).ok(),
        }
    }
}

/// Converts the metadata of a path. An inaccessible path counts as absent, as it does for a shell.
fn stat_path(path: &Path, metadata: Option<&Metadata>, names: &mut AccountNames) -> FactReading {
    match metadata {
        Some(metadata) => FactReading::Entry(file_stat(path, metadata, names)),
        None => FactReading::Absent,
    }
}

fn file_stat(path: &Path, metadata: &Metadata, names: &mut AccountNames) -> FileStat {
    let file_type = metadata.file_type();
    let kind = if file_type.is_file() {
        FileKind::File
    } else if file_type.is_dir() {
        FileKind::Folder
    } else if file_type.is_symlink() {
        let link_target = std::fs::read_link(path).unwrap_or_default();
        FileKind::Link(link_target.to_string_lossy().into_owned())
    } else {
        FileKind::Other
    };
    FileStat {
        kind,
        mode: metadata.mode() & PERMISSIONS,
        user: names.user(metadata.uid()).to_owned(),
        group: names.group(metadata.gid()).to_owned(),
        size: metadata.size(),
        modified: metadata.mtime(),
    }
}

/// Reads a regular file.
///
/// Other kinds are not opened, as that could block forever, for example on a named pipe.
fn read_regular_file(
    path: &str,
    metadata: Option<Metadata>,
    read: fn(File, u64) -> std::io::Result<FactReading>,
) -> FactReading {
    let Some(length) = metadata.filter(Metadata::is_file).map(|file| file.len()) else {
        return FactReading::Absent;
    };
    let result = fs::open_regular(Path::new(path)).and_then(|file| read(file, length));
    result.unwrap_or_else(|error| {
        FactReading::Failed(read_failure_message(path, &fs::os_message(&error)))
    })
}

fn digest(mut file: File, length: u64) -> std::io::Result<FactReading> {
    let mut hash = Sha256::new();
    let room = usize::try_from(length.saturating_add(1)).unwrap_or(CHUNK_BYTES);
    let mut piece = vec![0; room.clamp(1, CHUNK_BYTES)];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(FactReading::Digest(hex(&hash.finalize()))),
            count => hash.update(&piece[..count]),
        }
    }
}

fn content(file: File, length: u64) -> std::io::Result<FactReading> {
    let room = usize::try_from(length.min(MAX_CONTENT_BYTES)).unwrap_or(0);
    let mut bytes = Vec::with_capacity(room);
    file.take(MAX_CONTENT_BYTES).read_to_end(&mut bytes)?;
    Ok(FactReading::Content(bytes))
}

/// Lists a folder recursively. Entries that cannot be read are left out.
fn tree(root: &Path, names: &mut AccountNames) -> FactReading {
    if !root.is_dir() {
        return FactReading::Absent;
    }
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    while let Some((folder, below)) = folders.pop() {
        let Ok(items) = std::fs::read_dir(&folder) else {
            continue;
        };
        for item in items.flatten() {
            let Ok(metadata) = item.metadata() else {
                continue;
            };
            let name = item.file_name();
            let mut path = below.clone();
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(&name.to_string_lossy());
            if metadata.is_dir() {
                folders.push((item.path(), path.clone()));
            }
            found.push((path, file_stat(&item.path(), &metadata, names)));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    FactReading::Tree(found)
}
