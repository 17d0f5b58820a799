//! The memory disk, where tests need not wait for each write.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

const MEMORY_DISK: &str = "/dev/shm";

/// The free space that the tests need, in bytes.
const NEEDED: u64 = 2 << 30;

/// Returns true if the memory disk has enough space and can run programs, which is not so in many containers.
static USABLE: LazyLock<bool> = LazyLock::new(|| {
    let enough = rustix::fs::statvfs(MEMORY_DISK)
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= NEEDED);
    enough && runs_programs(Path::new(MEMORY_DISK))
});

/// Creates a temporary folder on the memory disk. Without one, the folder is among the temporary files.
pub(crate) fn memory_folder() -> TempDir {
    if *USABLE {
        return tempfile::tempdir_in(MEMORY_DISK).unwrap();
    }
    tempfile::tempdir().unwrap()
}

/// Returns true if programs in this folder can be run.
fn runs_programs(folder: &Path) -> bool {
    let Ok(folder) = tempfile::tempdir_in(folder) else {
        return false;
    };
    let program = folder.path().join("program");
    fs::copy("/bin/true", &program).is_ok()
        && Command::new(program)
            .status()
            .is_ok_and(|status| status.success())
}
