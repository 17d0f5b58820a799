//! Simulates a loss of power: undoes all bytes written since a file's last sync and all name changes since a
//! folder's last sync.
//!
//! The simulation assumes the worst case that POSIX permits: syncing a file does not make its name durable,
//! and a folder's own name is durable only after its parent folder is synced. A move between folders becomes
//! durable with the target folder.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::system::fault::SystemCall;

/// The changes that are not durable yet.
#[derive(Debug, Default)]
pub(super) struct UnsyncedChanges {
    /// Files with unsynced bytes, by device and inode.
    bytes: HashMap<(u64, u64), Unsynced>,
    /// Unsynced changes of names, oldest first.
    names: Vec<NameChange>,
}

/// A file with unsynced bytes.
#[derive(Debug)]
struct Unsynced {
    /// The current path of the file.
    path: PathBuf,
    /// The content at the last sync.
    durable: Vec<u8>,
}

/// A change of a name, which becomes durable when its folder is synced.
#[derive(Debug)]
struct NameChange {
    folder: PathBuf,
    undo: Undo,
}

/// The way to undo a change of a name.
#[derive(Debug)]
pub(super) enum Undo {
    Remove(PathBuf),
    /// Move the second path back to the first and restore the replaced entry.
    MoveBack(PathBuf, PathBuf, Option<SavedEntry>),
    PutBack(SavedEntry),
    Exchange(PathBuf, PathBuf),
}

/// A file, link or folder with its durable content.
#[derive(Debug)]
pub(super) struct SavedEntry {
    path: PathBuf,
    content: SavedContent,
}

/// The content of a saved entry, by kind.
#[derive(Debug)]
enum SavedContent {
    File(Vec<u8>, Permissions),
    Link(PathBuf),
    Folder(Vec<SavedEntry>),
}

/// The bookkeeping to do if a call succeeds.
#[derive(Debug)]
pub(super) enum CallEffect {
    NoEffect,
    /// A file was opened for writing; the flag tells whether it is new.
    Opened(PathBuf, bool),
    Synced(PathBuf),
    SyncedFolder(PathBuf),
    Named(PathBuf, Undo),
}

impl UnsyncedChanges {
    /// Records the state before a call and returns the bookkeeping to do after it.
    pub(super) fn before(&mut self, call: SystemCall<'_>) -> CallEffect {
        match call {
            SystemCall::Open(path) => {
                self.record_durable_bytes(path);
                CallEffect::Opened(resolved_path(path), !path.exists())
            }
            SystemCall::Write(path) | SystemCall::Truncate(path) => {
                self.record_durable_bytes(path);
                CallEffect::NoEffect
            }
            SystemCall::Sync(path) => CallEffect::Synced(path.to_owned()),
            SystemCall::SyncFolder(path) => CallEffect::SyncedFolder(resolved_path(path)),
            SystemCall::Rename(from, to) => {
                let undo = Undo::MoveBack(
                    resolved_path(from),
                    resolved_path(to),
                    self.save(&resolved_path(to)),
                );
                CallEffect::Named(resolved_path(to), undo)
            }
            SystemCall::Exchange(one, other) => CallEffect::Named(
                resolved_path(other),
                Undo::Exchange(resolved_path(one), resolved_path(other)),
            ),
            SystemCall::Link(path) | SystemCall::MakeFolder(path) => {
                CallEffect::Named(resolved_path(path), Undo::Remove(resolved_path(path)))
            }
            SystemCall::Unlink(path) | SystemCall::RemoveTree(path) => {
                match self.save(&resolved_path(path)) {
                    Some(saved) => CallEffect::Named(resolved_path(path), Undo::PutBack(saved)),
                    None => CallEffect::NoEffect,
                }
            }
            SystemCall::Spawn(_) => CallEffect::NoEffect,
        }
    }

    /// Records the changes of a successful call.
    pub(super) fn after(&mut self, note: CallEffect) {
        match note {
            CallEffect::NoEffect | CallEffect::Opened(_, false) => {}
            CallEffect::Opened(path, true) => {
                let durable = Vec::new();
                if let Some(inode) = inode_of(&path) {
                    let path = path.clone();
                    self.bytes.insert(inode, Unsynced { path, durable });
                }
                let undo = Undo::Remove(path.clone());
                self.record_name_change(&path, undo);
            }
            CallEffect::Synced(path) => {
                if let Some(inode) = inode_of(&path) {
                    self.bytes.remove(&inode);
                }
            }
            CallEffect::SyncedFolder(folder) => self.names.retain(|name| name.folder != folder),
            CallEffect::Named(path, undo) => {
                match &undo {
                    Undo::MoveBack(from, to, _) => self.follow_moves(&[(from, to)]),
                    Undo::Exchange(one, other) => self.follow_moves(&[(one, other), (other, one)]),
                    Undo::Remove(_) | Undo::PutBack(_) => {}
                }
                self.record_name_change(&path, undo);
            }
        }
    }

    /// Undoes all unsynced bytes, and unsynced name changes if `names` is set.
    pub(super) fn lose_power(&mut self, names: bool) {
        for (inode, unsynced) in self.bytes.drain() {
            if inode_of(&unsynced.path) == Some(inode) {
                fs::write(&unsynced.path, &unsynced.durable).ok();
            }
        }
        if !names {
            return;
        }
        while let Some(name) = self.names.pop() {
            match name.undo {
                Undo::Remove(path) => remove(&path),
                Undo::MoveBack(from, to, replaced) => {
                    fs::rename(&to, &from).ok();
                    if let Some(saved) = replaced {
                        put_back(&saved);
                    }
                }
                Undo::PutBack(saved) => put_back(&saved),
                Undo::Exchange(one, other) => {
                    let aside = one.with_extension("exchanged");
                    fs::rename(&one, &aside).ok();
                    fs::rename(&other, &one).ok();
                    fs::rename(&aside, &other).ok();
                }
            }
        }
    }

    fn record_name_change(&mut self, path: &Path, undo: Undo) {
        let folder = path.parent().unwrap_or(path).to_owned();
        self.names.push(NameChange { folder, undo });
    }

    /// Saves the durable content of a file before its bytes change.
    fn record_durable_bytes(&mut self, path: &Path) {
        if let (Some(inode), Ok(durable)) = (inode_of(path), fs::read(path)) {
            let path = resolved_path(path);
            self.bytes
                .entry(inode)
                .or_insert(Unsynced { path, durable });
        }
    }

    /// Updates the paths of unsynced files after simultaneous moves.
    fn follow_moves(&mut self, moves: &[(&Path, &Path)]) {
        for unsynced in self.bytes.values_mut() {
            let moved = moves.iter().find_map(|(from, to)| {
                let rest = unsynced.path.strip_prefix(from).ok()?;
                let is_it = rest.as_os_str().is_empty();
                Some(if is_it {
                    to.to_path_buf()
                } else {
                    to.join(rest)
                })
            });
            if let Some(path) = moved {
                unsynced.path = path;
            }
        }
    }

    /// Returns an entry with its durable content.
    fn save(&self, path: &Path) -> Option<SavedEntry> {
        let metadata = fs::symlink_metadata(path).ok()?;
        let what = if metadata.is_symlink() {
            SavedContent::Link(fs::read_link(path).ok()?)
        } else if metadata.is_dir() {
            let entries = fs::read_dir(path).ok()?.flatten();
            SavedContent::Folder(entries.filter_map(|e| self.save(&e.path())).collect())
        } else {
            let unsynced = self.bytes.get(&(metadata.dev(), metadata.ino()));
            let bytes = match unsynced {
                Some(unsynced) => unsynced.durable.clone(),
                None => fs::read(path).ok()?,
            };
            SavedContent::File(bytes, Permissions::from_mode(metadata.mode()))
        };
        let path = path.to_owned();
        Some(SavedEntry {
            path,
            content: what,
        })
    }
}

/// Resolves the folder of a path, so that equal files have equal paths. The last component may be missing.
fn resolved_path(path: &Path) -> PathBuf {
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
        let parent = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        if let Ok(parent) = parent.canonicalize() {
            return parent.join(name);
        }
    }
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn inode_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).ok(),
        Ok(_) => fs::remove_file(path).ok(),
        Err(_) => None,
    };
}

fn put_back(saved: &SavedEntry) {
    remove(&saved.path);
    match &saved.content {
        SavedContent::File(bytes, mode) => {
            fs::write(&saved.path, bytes).ok();
            fs::set_permissions(&saved.path, mode.clone()).ok();
        }
        SavedContent::Link(to) => {
            std::os::unix::fs::symlink(to, &saved.path).ok();
        }
        SavedContent::Folder(children) => {
            fs::create_dir(&saved.path).ok();
            children.iter().for_each(put_back);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a change together with its bookkeeping, as the fault layer does.
    fn make(power: &mut UnsyncedChanges, call: SystemCall<'_>, change: impl FnOnce()) {
        let note = power.before(call);
        change();
        power.after(note);
    }

    fn written(power: &mut UnsyncedChanges, path: &Path, text: &str) {
        make(power, SystemCall::Open(path), || {
            fs::write(path, "").unwrap();
        });
        make(power, SystemCall::Write(path), || {
            fs::write(path, text).unwrap();
        });
    }

    #[test]
    fn bytes_and_names_that_were_not_synced_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for (file, names, left) in [
            (false, false, None),
            (true, false, None),
            (false, true, Some("")),
            (true, true, Some("new")),
        ] {
            let mut power = UnsyncedChanges::default();
            written(&mut power, &path, "new");
            if file {
                make(&mut power, SystemCall::Sync(&path), || {});
            }
            if names {
                make(&mut power, SystemCall::SyncFolder(folder.path()), || {});
            }
            power.lose_power(true);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), left);
            fs::remove_file(&path).ok();
        }
    }

    #[test]
    fn what_was_replaced_comes_back_and_with_it_what_moved() {
        let folder = tempfile::tempdir().unwrap();
        let (old, beside) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&old, "old").unwrap();
        let mut power = UnsyncedChanges::default();
        written(&mut power, &beside, "new");
        make(&mut power, SystemCall::Sync(&beside), || {});
        make(&mut power, SystemCall::Rename(&beside, &old), || {
            fs::rename(&beside, &old).unwrap();
        });
        power.lose_power(true);
        assert_eq!(fs::read_to_string(&old).unwrap(), "old");
        assert!(!beside.exists());
    }

    #[test]
    fn a_name_may_be_durable_before_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (old, beside) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&old, "old").unwrap();
        let mut power = UnsyncedChanges::default();
        written(&mut power, &beside, "new");
        make(&mut power, SystemCall::Rename(&beside, &old), || {
            fs::rename(&beside, &old).unwrap();
        });
        power.lose_power(false);
        assert_eq!(fs::read_to_string(&old).unwrap(), "");
    }

    #[test]
    fn removed_folders_come_back_and_new_ones_go() {
        let root = tempfile::tempdir().unwrap();
        let (old, new) = (root.path().join("old"), root.path().join("new"));
        fs::create_dir_all(old.join("in")).unwrap();
        fs::write(old.join("in/f"), "x").unwrap();
        let mut power = UnsyncedChanges::default();
        make(&mut power, SystemCall::MakeFolder(&new), || {
            fs::create_dir(&new).unwrap();
        });
        make(&mut power, SystemCall::RemoveTree(&old), || {
            fs::remove_dir_all(&old).unwrap();
        });
        power.lose_power(true);
        assert_eq!(fs::read_to_string(old.join("in/f")).unwrap(), "x");
        assert!(!new.exists());
    }
}
