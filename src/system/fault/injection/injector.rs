//! Applies the configured fault to the system calls of this process.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

use nix::libc;

use super::plan::{FaultMode, FaultPlan};
use super::power_loss::UnsyncedChanges;
use crate::system::fault::SystemCall;

/// The variable that configures the fault. It is removed from the environment of child processes.
const FAULT_VARIABLE: &str = "UNFURL_TEST_FAULT";

/// The fault of this process, read from the variable once.
static INJECTOR: LazyLock<Option<Mutex<FaultInjector>>> = LazyLock::new(|| {
    let mode = FaultPlan::parse(std::env::var(FAULT_VARIABLE).ok()?.as_str())?;
    Some(Mutex::new(FaultInjector {
        mode,
        calls: 0,
        power_loss: UnsyncedChanges::default(),
    }))
});

/// Runs a system call, or makes it fail if the fault applies to it.
pub fn call<T>(call: SystemCall<'_>, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match &*INJECTOR {
        None => run(),
        Some(fault) => fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .run_call(call, run),
    }
}

/// Writes all bytes to a file. `path` serves only to identify the call.
pub fn write_all(mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    match &*INJECTOR {
        None => file.write_all(bytes),
        Some(fault) => fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write_all(file, path, bytes),
    }
}

/// Removes the fault variable from the environment of a child process.
pub fn hide_from(command: &mut Command) {
    command.env_remove(FAULT_VARIABLE);
}

/// Counts the calls of this process and applies the planned fault.
#[derive(Debug)]
struct FaultInjector {
    mode: FaultPlan,
    /// The number of calls so far.
    calls: u64,
    power_loss: UnsyncedChanges,
}

impl FaultInjector {
    /// Counts a call and returns the fault that applies to it. Does not return if the process must die before
    /// the call.
    fn next_call(&mut self, call: SystemCall<'_>) -> Option<FaultMode> {
        self.calls += 1;
        let (kind, target) = call.kind_and_path();
        if let FaultPlan::Count(path) = &self.mode {
            let line = format!("{}\t{kind}\t{}\n", self.calls, target.display());
            let file = OpenOptions::new().append(true).create(true).open(path);
            file.and_then(|mut file| file.write_all(line.as_bytes()))
                .ok();
        }
        if let Some(command) = self.mode.hook_for(kind, target) {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", command]).env_remove(FAULT_VARIABLE);
            shell.status().ok();
        }
        match self.mode.fault_for(self.calls, kind, target) {
            Some(FaultMode::DieBefore) => die(),
            Some(FaultMode::PowerLoss { names }) => {
                self.power_loss.lose_power(names);
                die()
            }
            other => other,
        }
    }

    fn run_call<T>(
        &mut self,
        call: SystemCall<'_>,
        run: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let what = self.next_call(call);
        match what {
            Some(FaultMode::DieWithin) => die(),
            // The standard library repeats these calls after `EINTR`, so the error must not reach the caller.
            Some(FaultMode::Fail(libc::EINTR)) if is_retried(call) => {}
            Some(FaultMode::Fail(errno)) => return Err(io::Error::from_raw_os_error(errno)),
            _ => {}
        }
        if !self.mode.tracks_unsynced() {
            let result = run();
            if what == Some(FaultMode::DieAfter) {
                die();
            }
            return result;
        }
        let before = self.power_loss.before(call);
        let result = run();
        if result.is_ok() {
            self.power_loss.after(before);
        }
        result
    }

    fn write_all(&mut self, mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let what = self.next_call(SystemCall::Write(path));
        let half = &bytes[..bytes.len() / 2];
        let mut first = Vec::new();
        match what {
            Some(FaultMode::DieWithin) => {
                file.write_all(half)?;
                die();
            }
            Some(FaultMode::Fail(libc::EINTR)) => first.push(0),
            Some(FaultMode::Fail(errno)) => {
                file.write_all(half)?;
                return Err(io::Error::from_raw_os_error(errno));
            }
            Some(FaultMode::Short) => first.push(half.len()),
            _ => {}
        }
        if self.mode.tracks_unsynced() {
            let before = self.power_loss.before(SystemCall::Write(path));
            self.power_loss.after(before);
        }
        PartialWriter { file, first }.write_all(bytes)?;
        if what == Some(FaultMode::DieAfter) {
            die();
        }
        Ok(())
    }
}

/// A writer whose first write accepts fewer bytes than requested. A count of 0 simulates an interrupted
/// write.
struct PartialWriter<'a> {
    file: &'a File,
    first: Vec<usize>,
}

impl Write for PartialWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.first.pop() {
            Some(0) => Err(ErrorKind::Interrupted.into()),
            Some(count) => self.file.write(&bytes[..count.min(bytes.len())]),
            None => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn is_retried(call: SystemCall<'_>) -> bool {
    matches!(
        call,
        SystemCall::Open(_)
            | SystemCall::Sync(_)
            | SystemCall::SyncFolder(_)
            | SystemCall::Truncate(_)
    )
}

/// Kills this process without running any further code, as `kill -9` does.
fn die() -> ! {
    use nix::sys::signal::{Signal, kill};
    kill(nix::unistd::Pid::this(), Signal::SIGKILL).ok();
    loop {
        std::thread::park();
    }
}
