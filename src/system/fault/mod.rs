//! The one point that every change of a file and every start of a program passes, so that tests
//! can make any of them fail, or cut the process off there, as a dying disk or machine would.
//!
//! Nothing happens here unless the variable `UNFURL_TEST_FAULT` is set when the process starts:
//!
//! | value | what happens |
//! |---|---|
//! | `count:FILE` | each call adds a line to FILE: its number, its kind, its path |
//! | `kill:N` | the process dies at once, as by `kill -9`, before the Nth call |
//! | `kill-within:N` | the same in the middle of the Nth call, if it is a write: half of it is there |
//! | `kill-after:N` | the same after the Nth call |
//! | `cut:N` | before the Nth call the power goes: all that was not synced is undone |
//! | `cut-data:N` | the same, but names are on disk that were not synced, without their bytes |
//! | `fail:ERRNO:N` | the Nth call fails; a write leaves half of its bytes |
//! | `fail-from:ERRNO:N` | the Nth call and all after it fail |
//! | `fail-from:ERRNO:N in FOLDER` | the same, but only calls for paths in that folder |
//! | `short:N` | the Nth call, if it is a write, writes half at first |
//!
//! Instead of a number, N may say what the call does: `rename=ensemble.yaml` is the first rename to
//! a path with that end, `write=.journal#3` the third write to such a file. A file that is written
//! beside the one that it is to become counts as that.
//!
//! `ERRNO` is one of `EIO`, `ENOSPC`, `EROFS`, `EMFILE`, `EACCES` and `EINTR`. What other programs
//! write, and libgit2, does not pass here.
#![expect(clippy::disallowed_methods, reason = "this is the door")]

mod calls;
mod mode;
mod power;

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

pub use calls::Call;
use mode::{Deed, Mode};
use nix::libc;
use power::Power;

/// The variable that says what is to go wrong. Programs that are started do not get it.
pub const VARIABLE: &str = "UNFURL_TEST_FAULT";

/// What is to go wrong in this process, if anything.
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
