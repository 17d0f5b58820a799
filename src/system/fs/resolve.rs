//! Opens an entry beneath an open folder. No symbolic link is followed, and no path leads out of the folder.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::retry_on_intr;

/// A symbolic link at a place where links are not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is a symbolic link to `{}`, and links are not followed there", link.display(), target.display())]
pub struct RefusedLink {
    pub link: PathBuf,
    pub target: PathBuf,
}

impl From<RefusedLink> for io::Error {
    fn from(error: RefusedLink) -> Self {
        Self::other(error)
    }
}

/// The flags that open a folder as the start of further calls.
pub(super) const AS_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Opens a folder that the caller trusts. Links in its path are followed.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(CWD, path, AS_FOLDER, Mode::empty())?)
}

/// Opens an entry beneath a folder. `relative` has names only; empty, it is the folder itself.
///
/// `by_kernel` allows one call of `openat2`, if the kernel has it; otherwise the entry is found folder by folder.
pub(super) fn open_beneath(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
    mode: Mode,
    by_kernel: bool,
) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    if by_kernel && let Some(opened) = open_by_kernel(root, relative, flags, mode) {
        return opened;
    }
    open_in_steps(root, relative, flags, mode)
}

/// Opens an entry by `openat2`; returns `None` if the kernel lacks it or a filter of system calls refuses it.
#[cfg(target_os = "linux")]
fn open_by_kernel(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
    mode: Mode,
) -> Option<io::Result<OwnedFd>> {
    use rustix::fs::ResolveFlags;
    use rustix::io::Errno;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let open = || rustix::fs::openat2(root, name_or_dot(relative), flags, mode, resolve);
    match retry_on_intr(open) {
        Ok(opened) => Some(Ok(opened)),
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => None,
        Err(error) => Some(Err(error.into())),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_by_kernel(_: BorrowedFd<'_>, _: &Path, _: OFlags, _: Mode) -> Option<io::Result<OwnedFd>> {
    None
}

/// Opens an entry folder by folder, each without following a link.
fn open_in_steps(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    let mut folder = None;
    let mut names = names_of(relative).peekable();
    while let Some(name) = names.next() {
        let within = folder.as_ref().map_or(root, OwnedFd::as_fd);
        if names.peek().is_none() {
            return Ok(retry_on_intr(|| {
                rustix::fs::openat(within, name, flags, mode)
            })?);
        }
        let flags = AS_FOLDER | OFlags::NOFOLLOW;
        folder = Some(rustix::fs::openat(within, name, flags, Mode::empty())?);
    }
    Ok(rustix::fs::openat(root, ".", flags, mode)?)
}

/// Returns the first symbolic link on the way, if there is one. `path` is that of the folder.
pub(super) fn link_on_the_way(
    root: BorrowedFd<'_>,
    path: &Path,
    relative: &Path,
) -> Option<RefusedLink> {
    let mut folder: Option<OwnedFd> = None;
    let mut so_far = path.to_owned();
    for name in names_of(relative) {
        let within = folder.as_ref().map_or(root, OwnedFd::as_fd);
        so_far.push(name);
        if let Some(link) = link_at(within, name, &so_far) {
            return Some(link);
        }
        let flags = AS_FOLDER | OFlags::NOFOLLOW;
        folder = Some(rustix::fs::openat(within, name, flags, Mode::empty()).ok()?);
    }
    None
}

/// Returns the entry of a folder if it is a symbolic link. `path` is the path of the entry.
pub(super) fn link_at(folder: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Option<RefusedLink> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
        return None;
    }
    let target = rustix::fs::readlinkat(folder, name, Vec::new()).ok()?;
    Some(RefusedLink {
        link: path.to_owned(),
        target: OsStr::from_bytes(target.to_bytes()).into(),
    })
}

/// Returns the names of a relative path.
pub(super) fn names_of(relative: &Path) -> impl Iterator<Item = &OsStr> {
    relative.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}

fn name_or_dot(relative: &Path) -> &Path {
    if relative.as_os_str().is_empty() {
        Path::new(".")
    } else {
        relative
    }
}
