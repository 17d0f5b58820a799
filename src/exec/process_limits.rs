//! The limits of this process that a shell sets with `ulimit`: open files, the size of files, and processes.

use std::fs::File;
use std::path::Path;

use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::system::fs;
use crate::system::signals::is_ignored;

/// The number of files that this process opens at least at the same time.
const MIN_DESCRIPTORS: usize = 32;

/// A limit of this process with which no command can work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this process can open only {available} more files, but needs at least {MIN_DESCRIPTORS}")]
pub struct TooFewDescriptors {
    available: usize,
}

impl TooFewDescriptors {
    /// Tells how to fix the problem.
    pub const HINT: &str = "raise the limit, for example with `ulimit -n 1024`";
}

/// Prepares this process for its limits, before anything is written.
///
/// # Errors
///
/// The process may open too few files. The libraries that handle signals would end the process without a
/// message.
pub fn prepare_process() -> Result<(), TooFewDescriptors> {
    let opened: Vec<_> = (0..MIN_DESCRIPTORS)
        .map_while(|_| File::open("/dev/null").ok())
        .collect();
    if opened.len() < MIN_DESCRIPTORS {
        let available = opened.len();
        return Err(TooFewDescriptors { available });
    }
    drop(opened);
    catch_file_size_signal();
    Ok(())
}

/// Makes a write beyond the limit for the size of files (`ulimit -f`) fail instead of ending this process.
///
/// The signal is caught and not ignored, because the programs that this process starts would inherit that.
fn catch_file_size_signal() {
    if !limits_file_size() || is_ignored(Signal::SIGXFSZ) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    // If the signal cannot be caught, it keeps its usual effect.
    if let Ok(runtime) = runtime {
        let _entered = runtime.enter();
        // The handler stays when its stream is dropped.
        drop(signal(SignalKind::from_raw(Signal::SIGXFSZ as i32)));
    }
}

/// Returns true if the size of files is limited or the limit is unknown.
fn limits_file_size() -> bool {
    let limits = fs::read_to_string(Path::new("/proc/self/limits")).unwrap_or_default();
    let limit = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max file size"));
    limit.is_none_or(|limit| !limit.trim_start().starts_with("unlimited"))
}
