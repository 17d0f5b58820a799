//! The terminal of this process: its size and its input mode.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, cfmakeraw, tcgetattr, tcsetattr,
};
use nix::unistd::{getpgrp, read, tcgetpgrp};

use super::console;

/// Returns the number of columns; `None` without a terminal.
pub fn width() -> Option<u16> {
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// Returns the numbers of columns and lines; `None` without a terminal.
pub fn size() -> Option<(u16, u16)> {
    let (width, height) = terminal_size::terminal_size()?;
    Some((width.0, height.0))
}

/// The input mode before the display of a job read keys. The display is ended by [`restore`] if this
/// process ends early.
static MODE_BEFORE_KEYS: Mutex<Option<Termios>> = Mutex::new(None);

/// The character that stands for the key Ctrl-Z.
pub const CTRL_Z: char = '\x1a';

/// Returns true if this process may use the terminal of its input: it does not run in the background.
pub fn is_foreground() -> bool {
    tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == getpgrp())
}

/// The input mode in which single keys are read: without echo, without line editing. Ctrl-C stays a
/// signal; Ctrl-Z is read as a key. The previous mode is restored when dropped.
#[derive(Debug)]
pub struct KeyMode(std::io::Stdin);

impl KeyMode {
    /// Switches to reading keys; returns `None` without a terminal, or in the background.
    pub fn enter() -> Option<Self> {
        if !is_foreground() {
            return None;
        }
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut mode = before.clone();
        mode.local_flags
            .remove(LocalFlags::ECHO | LocalFlags::ICANON);
        mode.control_chars[SpecialCharacterIndices::VMIN as usize] = 0;
        mode.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        mode.control_chars[SpecialCharacterIndices::VSUSP as usize] = 0;
        tcsetattr(std::io::stdin(), SetArg::TCSADRAIN, &mode).ok()?;
        *mode_before_keys() = Some(before);
        Some(Self(std::io::stdin()))
    }

    /// Returns the keys that were pressed, without waiting.
    pub fn take_keys(&self) -> Vec<char> {
        let stdin = &self.0;
        let mut ready = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        let mut keys = [0; 64];
        match poll(&mut ready, PollTimeout::ZERO) {
            Ok(1..) => {}
            _ => return Vec::new(),
        }
        let count = read(stdin, &mut keys).unwrap_or(0);
        keys[..count].iter().map(|key| char::from(*key)).collect()
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        restore_mode();
    }
}

fn mode_before_keys() -> std::sync::MutexGuard<'static, Option<Termios>> {
    MODE_BEFORE_KEYS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Restores the input mode. Returns true if it had been changed.
fn restore_mode() -> bool {
    let Some(before) = mode_before_keys().take() else {
        return false;
    };
    // In the background, the terminal has the mode of the shell, and this call would stop the process.
    if is_foreground() {
        tcsetattr(std::io::stdin(), SetArg::TCSADRAIN, &before).ok();
    }
    true
}

/// Gives the terminal back at the end of this process, if the display of a job still uses it.
pub(super) fn restore() {
    if restore_mode() {
        console::write_display("\r\x1b[K\x1b[C\x1b[J\r\x1b[?25h").ok();
    }
}

/// Stops this process as Ctrl-Z does, until the user continues it.
pub fn suspend_process() {
    killpg(getpgrp(), Signal::SIGTSTP).ok();
    // The signal may take effect a little later than the call returns.
    std::thread::sleep(std::time::Duration::from_millis(50));
}

/// Opens the terminal that controls this process, whatever its standard input is. None without one.
pub fn open_device() -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).open("/dev/tty").ok()
}

/// A changed input mode of a terminal. The previous mode is restored when dropped.
#[derive(Debug)]
pub struct InputMode {
    before: Termios,
    /// The terminal; none for that of the standard input.
    device: Option<File>,
}

impl InputMode {
    /// Switches to raw input, byte by byte without line editing; returns `None` if the input is not a
    /// terminal.
    pub fn raw() -> Option<Self> {
        Self::change_mode(None, SetArg::TCSADRAIN, cfmakeraw)
    }

    /// Switches off the echo of input; returns `None` if the input is not a terminal.
    pub fn hidden() -> Option<Self> {
        Self::change_mode(None, SetArg::TCSAFLUSH, hide_input)
    }

    /// Switches off the echo of input on a terminal.
    pub fn hidden_on(device: &File) -> Option<Self> {
        let device = device.try_clone().ok()?;
        Self::change_mode(Some(device), SetArg::TCSAFLUSH, hide_input)
    }

    fn change_mode(
        device: Option<File>,
        apply_at: SetArg,
        change: impl FnOnce(&mut Termios),
    ) -> Option<Self> {
        let stdin = std::io::stdin();
        let descriptor = device.as_ref().map_or(stdin.as_fd(), AsFd::as_fd);
        let before = tcgetattr(descriptor).ok()?;
        let mut mode = before.clone();
        change(&mut mode);
        tcsetattr(descriptor, apply_at, &mode).ok()?;
        Some(Self { before, device })
    }
}

fn hide_input(mode: &mut Termios) {
    mode.local_flags.remove(LocalFlags::ECHO);
    mode.local_flags.insert(LocalFlags::ECHONL);
}

impl Drop for InputMode {
    fn drop(&mut self) {
        // If the mode cannot be restored, the terminal is gone.
        let stdin = std::io::stdin();
        let descriptor = self.device.as_ref().map_or(stdin.as_fd(), AsFd::as_fd);
        tcsetattr(descriptor, SetArg::TCSADRAIN, &self.before).ok();
    }
}
