//! The fault of this process, and the calls that meet it.
#![expect(clippy::disallowed_methods, reason = "this is the door")]

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

use nix::libc;

use super::mode::{Deed, Mode};
use super::power::Power;
use crate::system::fault::Call;

/// The variable with the fault to inject. Programs that are started do not get it.
const VARIABLE: &str = "UNFURL_TEST_FAULT";

/// The fault of this process, if there is one.
static FAULT: LazyLock<Option<Mutex<Fault>>> = LazyLock::new(|| {
    let mode = Mode::parse(std::env::var(VARIABLE).ok()?.as_str())?;
    Some(Mutex::new(Fault {
        mode,
        calls: 0,
        power: Power::default(),
    }))
});

/// Makes a change, unless it is to fail.
pub fn call<T>(call: Call<'_>, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match &*FAULT {
        None => run(),
        Some(fault) => fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pass(call, run),
    }
}

/// Writes all bytes to a file, whose path is for the account only.
pub fn write_all(mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    match &*FAULT {
        None => file.write_all(bytes),
        Some(fault) => fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write_all(file, path, bytes),
    }
}

/// Takes the variable with the fault from a program that is about to start.
pub fn hide_from(command: &mut Command) {
    command.env_remove(VARIABLE);
}

#[derive(Debug)]
struct Fault {
    mode: Mode,
    /// How many calls there were.
    calls: u64,
    power: Power,
}

impl Fault {
    /// Counts a call and says what is to happen with it; it may never return.
    fn arrive(&mut self, call: Call<'_>) -> Option<Deed> {
        self.calls += 1;
        let (kind, target) = call.parts();
        if let Mode::Count(path) = &self.mode {
            let line = format!("{}\t{kind}\t{}\n", self.calls, target.display());
            let file = OpenOptions::new().append(true).create(true).open(path);
            file.and_then(|mut file| file.write_all(line.as_bytes()))
                .ok();
        }
        match self.mode.meet(self.calls, kind, target) {
            Some(Deed::DieBefore) => die(),
            Some(Deed::Cut { names }) => {
                self.power.cut(names);
                die()
            }
            other => other,
        }
    }

    fn pass<T>(&mut self, call: Call<'_>, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let what = self.arrive(call);
        match what {
            Some(Deed::DieWithin) => die(),
            // The standard library tries these again by itself.
            Some(Deed::Fail(libc::EINTR)) if is_retried(call) => {}
            Some(Deed::Fail(errno)) => return Err(io::Error::from_raw_os_error(errno)),
            _ => {}
        }
        if !self.mode.is_cut() {
            let result = run();
            if what == Some(Deed::DieAfter) {
                die();
            }
            return result;
        }
        let before = self.power.before(call);
        let result = run();
        if result.is_ok() {
            self.power.after(before);
        }
        result
    }

    fn write_all(&mut self, mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let what = self.arrive(Call::Write(path));
        let half = &bytes[..bytes.len() / 2];
        let mut first = Vec::new();
        match what {
            Some(Deed::DieWithin) => {
                file.write_all(half)?;
                die();
            }
            Some(Deed::Fail(libc::EINTR)) => first.push(0),
            Some(Deed::Fail(errno)) => {
                file.write_all(half)?;
                return Err(io::Error::from_raw_os_error(errno));
            }
            Some(Deed::Short) => first.push(half.len()),
            _ => {}
        }
        if self.mode.is_cut() {
            let before = self.power.before(Call::Write(path));
            self.power.after(before);
        }
        Halting { file, first }.write_all(bytes)?;
        if what == Some(Deed::DieAfter) {
            die();
        }
        Ok(())
    }
}

/// A file whose first write takes fewer bytes than it is given; none means: interrupted.
struct Halting<'a> {
    file: &'a File,
    first: Vec<usize>,
}

impl Write for Halting<'_> {
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

fn is_retried(call: Call<'_>) -> bool {
    matches!(
        call,
        Call::Open(_) | Call::Sync(_) | Call::SyncFolder(_) | Call::Truncate(_)
    )
}

/// Ends the process without another instruction of it.
fn die() -> ! {
    use nix::sys::signal::{Signal, kill};
    kill(nix::unistd::Pid::this(), Signal::SIGKILL).ok();
    loop {
        std::thread::park();
    }
}
