//! Locks that other programs hold on files (`fcntl(2)`).

use std::os::fd::AsFd as _;
use std::path::Path;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::regular::open_regular;

/// Returns the process that holds a lock on a file. None without one, or if the file cannot be opened.
pub fn lock_holder(path: &Path) -> Option<u32> {
    let file = open_regular(path).ok()?;
    let mut lock = libc::flock {
        l_type: i16::try_from(libc::F_RDLCK).ok()?,
        l_whence: i16::try_from(libc::SEEK_SET).ok()?,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    fcntl(file.as_fd(), FcntlArg::F_GETLK(&mut lock)).ok()?;
    let is_free = i32::from(lock.l_type) == libc::F_UNLCK;
    u32::try_from(lock.l_pid)
        .ok()
        .filter(|pid| !is_free && *pid > 0)
}
