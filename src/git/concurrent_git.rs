//! Waits for git programs that may have read the index before this program replaced it.
//!
//! `git commit` reads the index before it locks it, and writes back what it has read. While the lock is held, such a
//! git fails; after its end, no git can write an index that lacks the new entries.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::system::survivors::{Survivor, recent_programs_in};

/// The maximum time to wait. A git that waits for an editor has written its index long before.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The interval for checking whether the programs still run.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Waits until the git programs that run in a working tree now have ended, but not for those that have
/// started this program. Returns at once if there are none.
pub(super) fn wait_for_running_git(root: &Path) {
    let running = recent_programs_in("git", root);
    let end = Instant::now() + MAX_WAIT;
    while running.iter().any(Survivor::is_running) && Instant::now() < end {
        std::thread::sleep(POLL_INTERVAL);
    }
}
