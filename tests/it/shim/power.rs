//! A model of a disk that loses power. The model replays a trace on the files that were there before, and knows for
//! each file which bytes are durable, and for each folder which names are.
//!
//! The model permits what POSIX permits: bytes are durable after a sync of their file, and names after a sync of
//! their folder. Of the later changes of each folder a prefix is kept, independent of other folders. A rename from
//! one folder to another never loses both names.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::trace::Record;

/// The part of the unsynced changes that survives a loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// Unsynced bytes and names are gone.
    Everything,
    /// Unsynced names are there, without their bytes.
    Bytes,
    /// The same, with zeros instead of the bytes.
    Zeros,
    /// A random prefix of each folder's names; bytes that are gone, zeros, whole or cut in half.
    Random,
}

type Id = usize;

/// A file, folder or link of the model.
#[derive(Debug, Clone)]
enum Node {
    File {
        now: Vec<u8>,
        durable: Vec<u8>,
        mode: u32,
    },
    Folder {
        now: BTreeMap<OsString, Id>,
        durable: BTreeMap<OsString, Id>,
        /// The changes since the last sync, oldest first.
        unsynced: Vec<NameChange>,
    },
    Link(PathBuf),
}

/// A name that was set or removed.
#[derive(Debug, Clone)]
struct NameChange {
    serial: usize,
    name: OsString,
    to: Option<Id>,
    /// The folder and the serial number of the new name, if a rename removes this one. If that change is lost, so
    /// is this one.
    only_with: Option<(Id, usize)>,
}

/// The files of a folder, with the durable and the current state of each.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    root: PathBuf,
    nodes: Vec<Node>,
    inodes: HashMap<u64, Id>,
    /// The number of changes of names so far.
    changes: usize,
}

/// A tree of files: content and mode by path. Folders have no content.
pub(super) type Tree = BTreeMap<PathBuf, Entry>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// The bytes and the permissions.
    File(Vec<u8>, u32),
    Folder,
    Link(PathBuf),
}

impl Disk {
    /// The state of a folder in which everything is durable.
    pub(super) fn of(root: &Path) -> Self {
        let mut disk = Self {
            root: root.to_owned(),
            nodes: Vec::new(),
            inodes: HashMap::new(),
            changes: 0,
        };
        disk.add(root);
        disk
    }

    fn add(&mut self, path: &Path) -> Id {
        let metadata = fs::symlink_metadata(path).unwrap();
        let id = self.nodes.len();
        self.inodes.insert(metadata.ino(), id);
        if metadata.is_dir() {
            self.nodes.push(folder());
            let entries = fs::read_dir(path)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            let names: BTreeMap<_, _> = entries
                .map(|entry| (entry.file_name().unwrap().to_owned(), self.add(&entry)))
                .collect();
            self.nodes[id] = Node::Folder {
                durable: names.clone(),
                now: names,
                unsynced: Vec::new(),
            };
        } else if metadata.is_symlink() {
            self.nodes.push(Node::Link(fs::read_link(path).unwrap()));
        } else {
            let now = fs::read(path).unwrap();
            self.nodes.push(Node::File {
                durable: now.clone(),
                now,
                mode: metadata.mode(),
            });
        }
        id
    }

    /// Replays the calls that succeeded.
    pub(super) fn replay(&mut self, records: &[Record]) {
        for record in records.iter().filter(|record| record.result >= 0) {
            self.apply(record);
        }
    }

    fn apply(&mut self, record: &Record) {
        match &*record.kind {
            "create" | "tmpfile" => {
                let id = self.new_node(
                    record,
                    Node::File {
                        now: Vec::new(),
                        durable: Vec::new(),
                        mode: record.mode,
                    },
                );
                if record.kind == "create" {
                    self.name(&record.path, Some(id), None);
                }
            }
            "mkdir" => {
                let id = self.new_node(record, folder());
                self.name(&record.path, Some(id), None);
            }
            "symlink" => {
                let id = self.new_node(record, Node::Link(record.other.clone()));
                self.name(&record.path, Some(id), None);
            }
            "write" => self.change(record, |bytes| {
                let end = record.offset + record.data.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[record.offset..end].copy_from_slice(&record.data);
            }),
            "truncate" => self.change(record, |bytes| bytes.resize(record.offset, 0)),
            "sync" => self.sync(record),
            "sync-all" => (0..self.nodes.len()).for_each(|id| self.make_durable(id)),
            "rename" => self.rename(&record.path, &record.other),
            "exchange" => {
                let (one, other) = (self.find(&record.path), self.find(&record.other));
                self.name(&record.path, other, None);
                self.name(&record.other, one, None);
            }
            "link" => {
                let id = self.inodes.get(&record.inode).copied();
                self.name(&record.other, id, None);
            }
            "unlink" | "rmdir" => self.name(&record.path, None, None),
            "chmod" => {
                if let Some(id) = self.node_of(record)
                    && let Node::File { mode, .. } = &mut self.nodes[id]
                {
                    *mode = record.mode;
                }
            }
            _ => {}
        }
    }

    fn new_node(&mut self, record: &Record, node: Node) -> Id {
        self.nodes.push(node);
        self.inodes.insert(record.inode, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn node_of(&self, record: &Record) -> Option<Id> {
        let by_inode = self.inodes.get(&record.inode).copied();
        by_inode.or_else(|| self.find(&record.path))
    }

    fn change(&mut self, record: &Record, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(id) = self.node_of(record)
            && let Node::File { now, .. } = &mut self.nodes[id]
        {
            change(now);
        }
    }

    fn sync(&mut self, record: &Record) {
        if let Some(id) = self.node_of(record) {
            self.make_durable(id);
        }
    }

    fn make_durable(&mut self, id: Id) {
        match &mut self.nodes[id] {
            Node::File { now, durable, .. } => durable.clone_from(now),
            Node::Folder {
                now,
                durable,
                unsynced,
            } => {
                durable.clone_from(now);
                unsynced.clear();
            }
            Node::Link(_) => {}
        }
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        let id = self.find(from);
        self.name(to, id, None);
        let target = to.parent().and_then(|parent| self.find(parent));
        let only_with = target.map(|folder| (folder, self.changes));
        self.name(from, None, only_with);
    }

    fn name(&mut self, path: &Path, to: Option<Id>, only_with: Option<(Id, usize)>) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let Some(folder) = self.find(parent) else {
            return;
        };
        let Node::Folder { now, unsynced, .. } = &mut self.nodes[folder] else {
            return;
        };
        match to {
            Some(id) => now.insert(name.to_owned(), id),
            None => now.remove(name),
        };
        self.changes += 1;
        unsynced.push(NameChange {
            serial: self.changes,
            name: name.to_owned(),
            to,
            only_with,
        });
    }

    fn find(&self, path: &Path) -> Option<Id> {
        let mut id = 0;
        for part in path.strip_prefix(&self.root).ok()?.components() {
            let Node::Folder { now, .. } = &self.nodes[id] else {
                return None;
            };
            id = *now.get(part.as_os_str())?;
        }
        Some(id)
    }

    /// The files as processes see them.
    pub(super) fn now(&self) -> Tree {
        let names = |id: Id| match &self.nodes[id] {
            Node::Folder { now, .. } => now.clone(),
            _ => BTreeMap::new(),
        };
        let bytes = |id: Id| match &self.nodes[id] {
            Node::File { now, .. } => now.clone(),
            _ => Vec::new(),
        };
        self.tree(&names, &bytes)
    }

    /// The files after a loss of power.
    pub(super) fn cut(&self, loss: Loss, seed: u64) -> Tree {
        let kept = self.kept_changes(loss, seed);
        let names = |id: Id| match &self.nodes[id] {
            Node::Folder {
                durable, unsynced, ..
            } => {
                let mut names = durable.clone();
                for change in &unsynced[..kept[id]] {
                    match change.to {
                        Some(to) => names.insert(change.name.clone(), to),
                        None => names.remove(&change.name),
                    };
                }
                names
            }
            _ => BTreeMap::new(),
        };
        let bytes = |id: Id| match &self.nodes[id] {
            Node::File { now, durable, .. } => {
                let loss = match loss {
                    Loss::Random => random(seed, id) % 4,
                    Loss::Zeros => 1,
                    Loss::Everything | Loss::Bytes => 0,
                };
                bytes_after(now, durable, loss)
            }
            _ => Vec::new(),
        };
        self.tree(&names, &bytes)
    }

    /// How many unsynced changes each folder keeps.
    fn kept_changes(&self, loss: Loss, seed: u64) -> Vec<usize> {
        let count = |(id, node): (Id, &Node)| match node {
            Node::Folder { unsynced, .. } => match loss {
                Loss::Everything => 0,
                Loss::Bytes | Loss::Zeros => unsynced.len(),
                Loss::Random => {
                    let choices = u64::try_from(unsynced.len()).unwrap() + 1;
                    usize::try_from(random(seed, id) / 4 % choices).unwrap()
                }
            },
            _ => 0,
        };
        let mut kept: Vec<usize> = self.nodes.iter().enumerate().map(count).collect();
        // A source folder forgets a rename that the target folder has forgotten, and everything after.
        loop {
            let before = kept.clone();
            for (id, node) in self.nodes.iter().enumerate() {
                let Node::Folder { unsynced, .. } = node else {
                    continue;
                };
                let lost = unsynced[..kept[id]].iter().position(|change| {
                    let with = change.only_with;
                    with.is_some_and(|(folder, serial)| !self.has(folder, serial, kept[folder]))
                });
                kept[id] = lost.unwrap_or(kept[id]);
                // The two halves of a rename within a folder stay together.
                let last = kept[id].checked_sub(1).map(|place| unsynced[place].serial);
                let next = unsynced.get(kept[id]).and_then(|change| change.only_with);
                if next.is_some() && next == last.map(|serial| (id, serial)) {
                    kept[id] -= 1;
                }
            }
            if kept == before {
                return kept;
            }
        }
    }

    /// Whether a folder that keeps that many changes has a change.
    fn has(&self, folder: Id, serial: usize, kept: usize) -> bool {
        let Node::Folder { unsynced, .. } = &self.nodes[folder] else {
            return false;
        };
        let place = unsynced.iter().position(|change| change.serial == serial);
        place.is_none_or(|place| place < kept)
    }

    fn tree(
        &self,
        names: &dyn Fn(Id) -> BTreeMap<OsString, Id>,
        bytes: &dyn Fn(Id) -> Vec<u8>,
    ) -> Tree {
        let (mut tree, mut open) = (Tree::new(), vec![(PathBuf::new(), 0)]);
        while let Some((path, id)) = open.pop() {
            let entry = match &self.nodes[id] {
                Node::File { mode, .. } => Entry::File(bytes(id), mode & 0o7777),
                Node::Link(to) => Entry::Link(to.clone()),
                Node::Folder { .. } => {
                    let inner = names(id).into_iter();
                    open.extend(inner.map(|(name, id)| (path.join(name), id)));
                    Entry::Folder
                }
            };
            tree.insert(path, entry);
        }
        tree
    }
}

fn folder() -> Node {
    Node::Folder {
        now: BTreeMap::new(),
        durable: BTreeMap::new(),
        unsynced: Vec::new(),
    }
}

fn bytes_after(now: &[u8], durable: &[u8], loss: u64) -> Vec<u8> {
    match loss {
        _ if now == durable => now.to_vec(),
        0 => durable.to_vec(),
        1 => now
            .iter()
            .enumerate()
            .map(|(place, byte)| {
                if durable.get(place) == Some(byte) {
                    *byte
                } else {
                    0
                }
            })
            .collect(),
        2 => {
            let same = now.iter().zip(durable).take_while(|(a, b)| a == b).count();
            now[..usize::midpoint(same, now.len())].to_vec()
        }
        _ => now.to_vec(),
    }
}

/// A random number that depends on nothing but its arguments.
pub(super) fn random(seed: u64, id: Id) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (u64::try_from(id).unwrap() + 1);
    for _ in 0..3 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state = state.wrapping_mul(0x2545_F491_4F6C_DD1D);
    }
    state >> 8
}

/// Reads a folder.
pub(super) fn tree_of(root: &Path) -> Tree {
    Disk::of(root).now()
}

/// Changes a folder into a tree. Files that do not differ stay untouched.
pub(super) fn lay(tree: &Tree, root: &Path) {
    let current = tree_of(root);
    // Inner entries come after their folder.
    for path in current.keys().rev() {
        if tree.get(path) != current.get(path) {
            let place = root.join(path);
            let is_folder = current[path] == Entry::Folder;
            let removed = if is_folder {
                fs::remove_dir_all(&place)
            } else {
                fs::remove_file(&place)
            };
            removed.unwrap();
        }
    }
    for (path, entry) in tree {
        let place = root.join(path);
        if place.symlink_metadata().is_ok() {
            continue;
        }
        match entry {
            Entry::Folder => fs::create_dir(&place).unwrap(),
            Entry::Link(to) => std::os::unix::fs::symlink(to, &place).unwrap(),
            Entry::File(bytes, mode) => {
                fs::write(&place, bytes).unwrap();
                fs::set_permissions(&place, fs::Permissions::from_mode(*mode)).unwrap();
            }
        }
    }
}

/// The paths in which two trees differ.
pub(super) fn differences(one: &Tree, other: &Tree) -> Vec<String> {
    let paths = one.keys().chain(other.keys());
    let mut paths: Vec<String> = paths
        .filter(|path| one.get(*path) != other.get(*path))
        .map(|path| path.display().to_string())
        .collect();
    paths.sort();
    paths.dedup();
    paths
}
