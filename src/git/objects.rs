//! Writes objects so that a commit never refers to a damaged or unsynced one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use flate2::write::ZlibEncoder;
use git2::{FileMode, Oid};

use super::Error;
use super::repository::{Repository, open_above};
use crate::system::fs;
use crate::system::lockfile;

/// The maximum size of an object that is read again after it was written. Of larger ones only the start is read.
const MAX_VERIFIED_BYTES: usize = 64 << 20;

/// The priority of objects in memory: above files (1) and packs (2).
const MEMORY_PRIORITY: i32 = 1000;

/// The bit of an index entry for a file without content (`git add --intent-to-add`).
const INTENT_TO_ADD: u16 = 1 << 13;

impl Repository {
    /// Stores an object with `write`, durably, and checks that it can be read.
    ///
    /// libgit2 gives an object its name before its bytes are durable. It therefore writes to memory only, and the
    /// file is written here.
    pub(super) fn stored(&self, write: impl Fn() -> Result<Oid, Error>) -> Result<Oid, Error> {
        let failed = || self.failed("store an object");
        let objects = self.inner.odb().map_err(failed())?;
        if self.on_disk.get().is_none() {
            objects
                .add_new_mempack_backend(MEMORY_PRIORITY)
                .map_err(failed())?;
        }
        let id = write()?;
        if self.is_on_disk(id)? {
            return Ok(id);
        }
        // A power failure can leave an empty or damaged file, which git takes for the object.
        fs::remove_file_if_exists(&self.loose_file(id))?;
        let id = write()?;
        let object = objects.read(id).map_err(failed())?;
        self.write_loose(id, object.kind(), object.data())?;
        Ok(id)
    }

    /// Whether the repository has the object, undamaged.
    fn is_on_disk(&self, id: Oid) -> Result<bool, Error> {
        let failed = || self.failed("store an object");
        let repository = match self.on_disk.get() {
            Some(repository) => repository,
            None => {
                let opened = open_above(self.root()).map_err(failed())?;
                self.on_disk.get_or_init(|| opened)
            }
        };
        let objects = repository.odb().map_err(failed())?;
        Ok(match objects.read_header(id) {
            Ok((size, _)) if size > MAX_VERIFIED_BYTES => true,
            Ok(_) => objects.read(id).is_ok(),
            Err(_) => false,
        })
    }

    /// Writes the file of an object, whose bytes are durable before it has its name.
    fn write_loose(&self, id: Oid, kind: git2::ObjectType, data: &[u8]) -> Result<(), Error> {
        let file = self.loose_file(id);
        let failed = |source| fs::Error::new(fs::FileAction::Write, &file, source);
        let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        let header = format!("{} {}\0", kind.str(), data.len());
        let written = encoder.write_all(header.as_bytes());
        let written = written.and_then(|()| encoder.write_all(data));
        let bytes = written.and_then(|()| encoder.finish()).map_err(failed)?;
        if let Some(folder) = file.parent() {
            fs::create_dirs_like_parent(folder)?;
        }
        lockfile::create_complete(&file, &bytes)?;
        Ok(())
    }

    /// Creates the tree of an index.
    pub(super) fn tree_of_index(&self, index: &git2::Index) -> Result<Oid, Error> {
        if index.has_conflicts() {
            let message = "it has conflicts";
            return Err(Error::refused("commit the index", self.root(), message));
        }
        let files = index
            .iter()
            .filter(|entry| entry.flags_extended & INTENT_TO_ADD == 0);
        let contents = files.map(|entry| {
            let path = PathBuf::from(OsStr::from_bytes(&entry.path));
            (path, TreeChange::Set(entry.id, file_mode(entry.mode)))
        });
        self.tree_with(None, &contents.collect::<Vec<_>>())
    }

    /// Returns the file that holds an object unless it is in a pack.
    fn loose_file(&self, id: Oid) -> PathBuf {
        let id = id.to_string();
        let folder = self.inner.commondir().join("objects").join(&id[..2]);
        folder.join(&id[2..])
    }

    /// Makes the objects of a commit durable, before a branch points at them.
    ///
    /// # Errors
    ///
    /// An object could not be made durable, so no branch must point at the commit.
    pub(super) fn sync_objects(
        &self,
        commit: Oid,
        tree: Oid,
        files: &[PathBuf],
    ) -> Result<(), Error> {
        let mut ids = BTreeSet::from([commit, tree]);
        let tree = self.inner.find_tree(tree);
        let tree = tree.map_err(self.failed("read the commit"))?;
        for path in files.iter().flat_map(|file| file.ancestors()) {
            if let Ok(entry) = tree.get_path(path) {
                ids.insert(entry.id());
            }
        }
        let mut folders = BTreeSet::new();
        for id in ids {
            let file = self.loose_file(id);
            match fs::sync_file(&file) {
                Ok(()) => drop(folders.insert(file.parent().unwrap_or(&file).to_owned())),
                // The object is in a pack or in another repository, or is the commit of a submodule.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
        for folder in folders {
            fs::sync_dir(&folder)?;
        }
        Ok(fs::sync_dir(&self.inner.commondir().join("objects"))?)
    }

    /// Makes the names of fetched packs durable. Git has synced their content.
    pub(super) fn sync_packs(&self) -> Result<(), Error> {
        let objects = self.inner.commondir().join("objects");
        for folder in [objects.join("pack"), objects] {
            if fs::is_dir(&folder) {
                fs::sync_dir(&folder)?;
            }
        }
        Ok(())
    }
}

/// A change of one path in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeChange {
    /// Set the path to a file, a symbolic link or the commit of a submodule.
    Set(Oid, FileMode),
    /// Remove the path, if it exists.
    Remove,
}

/// The changes below a folder: the remaining path of each.
type Changes<'a> = [(&'a Path, TreeChange)];

impl Repository {
    /// Creates a tree that equals `base` except for the given paths.
    pub(super) fn tree_with(
        &self,
        base: Option<&git2::Tree<'_>>,
        contents: &[(PathBuf, TreeChange)],
    ) -> Result<Oid, Error> {
        let mut changes: Vec<(&Path, TreeChange)> = contents
            .iter()
            .map(|(path, change)| (path.as_path(), *change))
            .collect();
        changes.sort_by_key(|(path, _)| *path);
        if let Some(id) = self.folder_with(base, &changes)? {
            return Ok(id);
        }
        let empty = || self.inner.treebuilder(None).and_then(|tree| tree.write());
        self.stored(|| empty().map_err(self.failed("create a tree")))
    }

    /// Creates the tree of a folder; `None` if it is empty. The changes are sorted.
    fn folder_with(
        &self,
        base: Option<&git2::Tree<'_>>,
        changes: &Changes<'_>,
    ) -> Result<Option<Oid>, Error> {
        let failed = || self.failed("create a tree");
        let mut builder = self.inner.treebuilder(base).map_err(failed())?;
        let same_entry = |(left, _): &(&Path, TreeChange), (right, _): &(&Path, TreeChange)| {
            left.components().next() == right.components().next()
        };
        for group in changes.chunk_by(same_entry) {
            let Some(name) = group[0].0.components().next() else {
                continue;
            };
            let bytes = name.as_os_str().as_bytes();
            let old = base.and_then(|base| base.get_name_bytes(bytes));
            let entry = self.entry_with(old.as_ref(), Path::new(name.as_os_str()), group)?;
            match entry {
                Some((id, mode)) => {
                    builder.insert(bytes, id, mode).map_err(failed())?;
                }
                None if old.is_some() => builder.remove(bytes).map_err(failed())?,
                None => {}
            }
        }
        if builder.is_empty() {
            return Ok(None);
        }
        let write = || builder.write().map_err(failed());
        self.stored(write).map(Some)
    }

    /// Returns the object and the mode of an entry after the changes; `None` if the entry is gone.
    fn entry_with(
        &self,
        old: Option<&git2::TreeEntry<'_>>,
        name: &Path,
        changes: &Changes<'_>,
    ) -> Result<Option<(Oid, i32)>, Error> {
        let (own, below): (Vec<_>, Vec<_>) =
            changes.iter().copied().partition(|(path, _)| *path == name);
        let own = own.last().map(|(_, change)| *change);
        if let Some(TreeChange::Set(id, mode)) = own {
            return Ok(Some((id, i32::from(mode))));
        }
        let old = old.filter(|_| own.is_none());
        let folder = old.filter(|old| old.kind() == Some(git2::ObjectType::Tree));
        let is_kept = |old: &git2::TreeEntry<'_>| (old.id(), old.filemode());
        let adds = below
            .iter()
            .any(|(_, change)| *change != TreeChange::Remove);
        if folder.is_none() && !adds {
            return Ok(old.map(is_kept));
        }
        let folder = match folder {
            Some(entry) => Some(
                self.inner
                    .find_tree(entry.id())
                    .map_err(self.failed("read the commit"))?,
            ),
            None => None,
        };
        let below: Vec<(&Path, TreeChange)> = below
            .into_iter()
            .filter_map(|(path, change)| Some((path.strip_prefix(name).ok()?, change)))
            .collect();
        let id = self.folder_with(folder.as_ref(), &below)?;
        Ok(id.map(|id| (id, i32::from(FileMode::Tree))))
    }
}

/// Returns the mode that a tree or an index has for an entry.
pub(super) fn file_mode(mode: u32) -> FileMode {
    match mode {
        0o100_755 => FileMode::BlobExecutable,
        0o120_000 => FileMode::Link,
        0o160_000 => FileMode::Commit,
        0o040_000 => FileMode::Tree,
        _ => FileMode::Blob,
    }
}
