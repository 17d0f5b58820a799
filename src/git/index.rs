//! Changes a private copy of git's index, which then replaces the index while its lock is held.
//!
//! The copy keeps the time of the old index. Git trusts the recorded metadata of a file only if the file is older
//! than the index, and compares its content otherwise. With the old time, it compares the files that are added
//! here and those that it would have compared before.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{IndexTime, Oid};

use super::Error;
use super::commit::MAX_BYTES_IN_MEMORY;
use super::concurrent_git::wait_for_running_git;
use super::lock_file::GitLock;
use super::operation::{Operation, OperationRecord};
use super::repository::Repository;
use crate::system::fs::{self, FileStat, FileTime};

/// The maximum number of commits in which an old version of a file is searched.
const MAX_SEARCHED_COMMITS: usize = 100;

/// The highest stage of an entry. Conflicts have entries with the stages 1 to 3.
const MAX_STAGE: i32 = 3;

impl Repository {
    /// Creates the index in which the entries of these files, and no others, are those of a tree. The caller holds
    /// the lock of the index. Returns the file, which is durable.
    pub(super) fn prepare_index(
        &self,
        operation: &Operation,
        files: &[PathBuf],
        tree: Oid,
    ) -> Result<PathBuf, Error> {
        let failed = || self.failed("update the index");
        let tree = self.inner.find_tree(tree).map_err(failed())?;
        let path = operation.path("index");
        let time = self.copy_index(&path)?;
        if self.change_index(&path, files, &tree).is_err() {
            // Git supports formats of the index that libgit2 does not, such as split and sparse ones.
            self.copy_index(&path)?;
            self.change_index_with_git(&path, files, &tree)?;
        }
        let filtered = files.iter().filter(|file| self.has_filter(file));
        let filtered: Vec<&PathBuf> = filtered.filter(|file| is_file_of(&tree, file)).collect();
        if !filtered.is_empty() {
            // libgit2 runs no filters, so it cannot compare these files without their metadata.
            self.add_with_git(&path, &filtered)?;
        }
        fs::set_modified_time(&path, time)?;
        fs::sync_file(&path)?;
        Ok(path)
    }

    /// Copies the index. Returns the time for the new one.
    fn copy_index(&self, to: &Path) -> Result<SystemTime, Error> {
        let index = self.inner.path().join("index");
        fs::remove_file_if_exists(to)?;
        if !fs::exists(&index) {
            // Git always compares files with an index that is so old, but 0 would mean an unknown time.
            return Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
        }
        let time = fs::modified_time(&index);
        let mode = fs::mode_of(&index)?;
        fs::write_plain(to, &fs::read(&index)?, Some(mode))?;
        let time = time.unwrap_or(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
        fs::set_modified_time(to, time)?;
        Ok(time)
    }

    fn change_index(
        &self,
        path: &Path,
        files: &[PathBuf],
        tree: &git2::Tree<'_>,
    ) -> Result<(), git2::Error> {
        let mut index = git2::Index::open(path)?;
        let (there, removed): (Vec<_>, Vec<_>) =
            files.iter().partition(|file| is_file_of(tree, file));
        // Remove first, so that a folder can replace a file.
        for file in removed {
            for stage in 0..=MAX_STAGE {
                remove_entry(&mut index, file, stage)?;
            }
        }
        for file in there {
            for stage in 1..=MAX_STAGE {
                remove_entry(&mut index, file, stage)?;
            }
            let entry = tree.get_path(file)?;
            let mode = u32::try_from(entry.filemode()).unwrap_or_default();
            let stat = self.stat_if_unchanged(file, entry.id());
            index.add(&index_entry(file, entry.id(), mode, stat))?;
        }
        index.write()
    }

    /// Returns the metadata of a file of the working tree that has the content of a blob.
    fn stat_if_unchanged(&self, file: &Path, id: Oid) -> Option<FileStat> {
        if self.has_filter(file) {
            return None;
        }
        let path = self.root().join(file);
        let before = fs::stat_of(&path).ok()?;
        let found = if fs::is_symlink(&path) {
            use std::os::unix::ffi::OsStrExt as _;
            let target = fs::read_link(&path).ok()?;
            Oid::hash_object(git2::ObjectType::Blob, target.as_os_str().as_bytes()).ok()?
        } else if before.size > MAX_BYTES_IN_MEMORY {
            // Git compares the content itself.
            return None;
        } else if fs::is_file(&path) {
            // This converts line ends as git does.
            self.inner.blob_path(&path).ok()?
        } else {
            return None;
        };
        let after = fs::stat_of(&path).ok()?;
        (found == id && before == after).then_some(after)
    }

    fn change_index_with_git(
        &self,
        index: &Path,
        files: &[PathBuf],
        tree: &git2::Tree<'_>,
    ) -> Result<(), Error> {
        use std::os::unix::ffi::OsStrExt as _;
        let (there, removed): (Vec<_>, Vec<_>) =
            files.iter().partition(|file| is_file_of(tree, file));
        let mut list = Vec::new();
        let mut add = |mode: i32, id: Oid, file: &Path| {
            list.extend(format!("{mode:o} {id}\t").into_bytes());
            list.extend(file.as_os_str().as_bytes());
            list.push(0);
        };
        for file in removed {
            add(0, Oid::ZERO_SHA1, file);
        }
        for file in there {
            let entry = tree.get_path(file);
            let entry = entry.map_err(self.failed("update the index"))?;
            add(entry.filemode(), entry.id(), file);
        }
        let call = self.git(["update-index", "-z", "--index-info"])?;
        let call = call.stdin(&list);
        let call = call.set_env("GIT_INDEX_FILE", index.to_string_lossy());
        call.run_checked("update the index").map(drop)
    }

    fn add_with_git(&self, index: &Path, files: &[&PathBuf]) -> Result<(), Error> {
        use std::os::unix::ffi::OsStrExt as _;
        let mut list = Vec::new();
        for file in files {
            list.extend(file.as_os_str().as_bytes());
            list.push(0);
        }
        let words = [
            "update-index",
            "--add",
            "--remove",
            "--replace",
            "-z",
            "--stdin",
        ];
        let call = self.git(words)?.stdin(&list);
        let call = call.set_env("GIT_INDEX_FILE", index.to_string_lossy());
        call.run_checked("update the index").map(drop)
    }

    /// Brings index entries of files forward to the last commit, if they are those of an earlier commit: a process
    /// that was killed between a commit and the index left them. Entries that the user has staged stay.
    pub(super) fn repair_index(&self, files: &[PathBuf]) -> Result<(), Error> {
        if self.outdated_entries(files)?.is_empty() {
            return Ok(());
        }
        let index = self.inner.path().join("index");
        let lock = self.inner.path().join("index.lock");
        let operation = self.begin_operation(OperationRecord::new(), &[&lock])?;
        let lock = GitLock::acquire(&lock, self.root())?;
        let outdated = self.outdated_entries(files)?;
        let tip = self.tip()?;
        if let Some(tip) = tip.filter(|_| !outdated.is_empty()) {
            let new = self.prepare_index(&operation, &outdated, tip.tree_id())?;
            fs::rename(&new, &index)?;
            fs::sync_parent(&index)?;
            wait_for_running_git(self.root());
        }
        Ok(lock.release()?)
    }

    /// Returns the files whose index entries differ from the last commit and equal an earlier one.
    fn outdated_entries(&self, files: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        let Some(tip) = self.tip()? else {
            return Ok(Vec::new());
        };
        let Some(staged) = self.staged_ids(files) else {
            return Ok(Vec::new());
        };
        let id_in = |tree: &git2::Tree<'_>, file: &Path| tree.get_path(file).ok().map(|it| it.id());
        let last = tip.tree().map_err(self.failed("read the commit"))?;
        let mut open: Vec<(&PathBuf, Option<Oid>)> = files
            .iter()
            .zip(staged)
            .filter(|(file, staged)| id_in(&last, file) != *staged)
            // A file that is gone everywhere may have been removed by the user.
            .filter(|(file, staged)| staged.is_some() || fs::exists(&self.root().join(file)))
            .collect();
        let mut outdated = Vec::new();
        let mut commit = tip;
        for _ in 0..MAX_SEARCHED_COMMITS {
            let Some(parent) = commit.parent(0).ok().filter(|_| !open.is_empty()) else {
                break;
            };
            let tree = parent.tree().map_err(self.failed("read the commit"))?;
            let (found, rest): (Vec<_>, Vec<_>) = open
                .into_iter()
                .partition(|(file, staged)| id_in(&tree, file) == *staged);
            outdated.extend(found.into_iter().map(|(file, _)| file.clone()));
            open = rest;
            commit = parent;
        }
        Ok(outdated)
    }

    /// Returns the ids of the entries of files in the index; `None` if libgit2 cannot read it.
    fn staged_ids(&self, files: &[PathBuf]) -> Option<Vec<Option<Oid>>> {
        let mut index = self.inner.index().ok()?;
        index.read(true).ok()?;
        let id = |file: &PathBuf| index.get_path(file, 0).map(|entry| entry.id);
        Some(files.iter().map(id).collect())
    }
}

fn is_file_of(tree: &git2::Tree<'_>, file: &Path) -> bool {
    let entry = tree.get_path(file);
    entry.is_ok_and(|entry| entry.kind() != Some(git2::ObjectType::Tree))
}

fn remove_entry(index: &mut git2::Index, file: &Path, stage: i32) -> Result<(), git2::Error> {
    if index.get_path(file, stage).is_some() {
        index.remove(file, stage)?;
    }
    Ok(())
}

/// Creates an index entry. Without file metadata, git compares the file's content.
fn index_entry(path: &Path, id: Oid, mode: u32, stat: Option<FileStat>) -> git2::IndexEntry {
    use std::os::unix::ffi::OsStrExt as _;
    let never = IndexTime::new(0, 0);
    let mut entry = git2::IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_os_str().as_bytes().to_owned(),
    };
    if let Some(stat) = stat {
        entry.ctime = index_time(stat.changed);
        entry.mtime = index_time(stat.modified);
        entry.dev = low_bits(stat.device);
        entry.ino = low_bits(stat.inode);
        entry.uid = stat.user;
        entry.gid = stat.group;
        entry.file_size = low_bits(stat.size);
    }
    entry
}

/// The index has 32 bits for each number.
fn low_bits(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default()
}

fn index_time(time: FileTime) -> IndexTime {
    let seconds = i32::try_from(time.seconds).unwrap_or_default();
    let nanoseconds = u32::try_from(time.nanoseconds).unwrap_or_default();
    IndexTime::new(seconds, nanoseconds)
}
