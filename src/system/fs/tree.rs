//! Lists, copies and removes trees of folders by their descriptors. No symbolic link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::modes::FOLDER_MODE;
use super::regular::check_regular;
use super::resolve::AS_FOLDER;
use crate::system::fault::{self, SystemCall};

/// The depth at which a tree is refused. Each level holds a file descriptor.
const MAX_DEPTH: usize = 256;

const FOLDER: OFlags = AS_FOLDER.union(OFlags::NOFOLLOW);

/// Returns the entries of an open folder with their types, sorted by name.
pub(super) fn entries_of(folder: &OwnedFd) -> io::Result<Vec<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let name = OsStr::from_bytes(name).to_owned();
        let kind = match entry.file_type() {
            FileType::Unknown => {
                match rustix::fs::statat(folder, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => FileType::from_raw_mode(found.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            kind => kind,
        };
        entries.push((name, kind));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

/// An open folder whose entries are worked through.
struct Level {
    folder: OwnedFd,
    name: OsString,
    entries: std::vec::IntoIter<(OsString, FileType)>,
}

impl Level {
    fn open(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<Self> {
        let folder = rustix::fs::openat(parent, name, FOLDER, Mode::empty())?;
        let entries = entries_of(&folder)?.into_iter();
        Ok(Self {
            folder,
            name: name.to_owned(),
            entries,
        })
    }
}

fn too_deep() -> io::Error {
    io::Error::other(format!(
        "folders are nested more than {MAX_DEPTH} levels deep"
    ))
}

/// Removes an entry of a folder with its contents; a link is removed itself.
pub(super) fn remove_tree(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {}
        Ok(_) => return Ok(rustix::fs::unlinkat(parent, name, AtFlags::empty())?),
        Err(error) => return Err(error.into()),
    }
    let mut levels = vec![Level::open(parent, name)?];
    while let Some(level) = levels.last_mut() {
        match level.entries.next() {
            Some((inner, FileType::Directory)) => {
                let inner = Level::open(level.folder.as_fd(), &inner)?;
                if levels.len() >= MAX_DEPTH {
                    return Err(too_deep());
                }
                levels.push(inner);
            }
            Some((inner, _)) => gone(rustix::fs::unlinkat(
                &level.folder,
                &*inner,
                AtFlags::empty(),
            ))?,
            None => {
                let Some(done) = levels.pop() else { break };
                let above = levels.last().map_or(parent, |level| level.folder.as_fd());
                gone(rustix::fs::unlinkat(above, &*done.name, AtFlags::REMOVEDIR))?;
            }
        }
    }
    Ok(())
}

/// Another process may remove the same entry at the same time.
fn gone(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

/// Copies the contents of a folder into another. `path` is that of the target.
pub(super) fn copy_entries(source: OwnedFd, target: OwnedFd, path: &Path) -> io::Result<()> {
    let mut waiting = vec![(source, target, path.to_owned(), 0)];
    while let Some((source, target, path, depth)) = waiting.pop() {
        for (name, kind) in entries_of(&source)? {
            let to = path.join(&name);
            match kind {
                FileType::Directory if depth >= MAX_DEPTH => return Err(too_deep()),
                FileType::Directory => {
                    let (from, into) = copied_folder(&source, &target, &name, &to)?;
                    waiting.push((from, into, to, depth + 1));
                }
                FileType::RegularFile => copy_file(&source, &target, &name, &to)?,
                FileType::Symlink => copy_link(&source, &target, &name, &to)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn copied_folder(
    source: &OwnedFd,
    target: &OwnedFd,
    name: &OsStr,
    to: &Path,
) -> io::Result<(OwnedFd, OwnedFd)> {
    let from = rustix::fs::openat(source, name, FOLDER, Mode::empty())?;
    let create = || match rustix::fs::mkdirat(target, name, Mode::from_raw_mode(FOLDER_MODE)) {
        Err(Errno::EXIST) => Ok(()),
        other => Ok(other?),
    };
    fault::call(SystemCall::MakeFolder(to), create)?;
    let into = rustix::fs::openat(target, name, FOLDER, Mode::empty())?;
    Ok((from, into))
}

fn copy_file(source: &OwnedFd, target: &OwnedFd, name: &OsStr, to: &Path) -> io::Result<()> {
    let copy = || {
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let from = rustix::fs::openat(source, name, flags | OFlags::RDONLY, Mode::empty())?;
        let mut from = File::from(from);
        check_regular(&from)?;
        let mode = from.metadata()?.permissions();
        let flags = flags | OFlags::WRONLY | OFlags::CREATE;
        let into = rustix::fs::openat(target, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut into = File::from(into);
        check_regular(&into)?;
        into.set_len(0)?;
        io::copy(&mut from, &mut into)?;
        into.set_permissions(mode)
    };
    fault::call(SystemCall::Open(to), copy)
}

fn copy_link(source: &OwnedFd, target: &OwnedFd, name: &OsStr, to: &Path) -> io::Result<()> {
    let link = rustix::fs::readlinkat(source, name, Vec::new())?;
    let create = || Ok(rustix::fs::symlinkat(&*link, target, name)?);
    fault::call(SystemCall::Link(to), create)
}
