//! The kind of the file system that holds a file.

use std::path::Path;

/// Numbers of file systems that only a single host mounts (`statfs(2)`, `linux/magic.h`). Network, cluster and
/// shared file systems are absent, and so is FUSE, which may be any of these.
#[rustfmt::skip]
const LOCAL_FILE_SYSTEMS: [u32; 17] = [
    0x0000_4d44, // vfat
    0x0000_ef53, // ext2, ext3, ext4
    0x0000_f15f, // ecryptfs
    0x0102_1994, // tmpfs
    0x2011_bab0, // exfat
    0x2fc1_2fc1, // zfs
    0x3153_464a, // jfs
    0x5265_4973, // reiserfs
    0x5346_544e, // ntfs
    0x5846_5342, // xfs
    0x7366_746e, // ntfs3
    0x794c_7630, // overlayfs
    0x8584_58f6, // ramfs
    0x9123_683e, // btrfs
    0xca45_1a4e, // bcachefs
    0xf2f5_2010, // f2fs
    0x2405_1905, // ubifs
];

/// Whether a file or folder is on a file system that only this host can have mounted. False if that is unknown.
pub fn is_on_local_file_system(path: &Path) -> bool {
    let kind = rustix::fs::statfs(path).map(|found| found.f_type);
    // The width and sign of the number depend on the platform.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number has 32 bits"
    )]
    kind.is_ok_and(|kind| LOCAL_FILE_SYSTEMS.contains(&(kind as u32)))
}

/// Returns true if a folder is on a file system whose files are in memory only, apart from swapping.
pub fn is_in_memory(path: &Path) -> bool {
    const IN_MEMORY: [u32; 2] = [
        0x0102_1994, // tmpfs
        0x8584_58f6, // ramfs
    ];
    let kind = rustix::fs::statfs(path).map(|found| found.f_type);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number has 32 bits"
    )]
    kind.is_ok_and(|kind| IN_MEMORY.contains(&(kind as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_memory_file_system_counts_as_memory() {
        assert!(!is_in_memory(Path::new("/proc")));
        assert!(!is_in_memory(Path::new("/nowhere/at/all")));
    }

    #[test]
    fn a_file_system_of_the_kernel_is_not_local() {
        assert!(is_on_local_file_system(&std::env::temp_dir()));
        assert!(!is_on_local_file_system(Path::new("/proc")));
        assert!(!is_on_local_file_system(Path::new("/nowhere/at/all")));
    }
}
