//! The terminal of this process: its size and its input mode.

use nix::sys::termios::{LocalFlags, SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};

/// Returns the number of columns; `None` without a terminal.
pub fn width() -> Option<u16> {
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// Returns the numbers of columns and lines; `None` without a terminal.
pub fn size() -> Option<(u16, u16)> {
    let (width, height) = terminal_size::terminal_size()?;
    Some((width.0, height.0))
}

/// A changed input mode of the terminal. The previous mode is restored when dropped.
#[derive(Debug)]
pub struct InputMode {
    before: Termios,
}

impl InputMode {
    /// Switches to raw input, byte by byte without line editing; returns `None` if the input is not a
    /// terminal.
    pub fn raw() -> Option<Self> {
        Self::change_mode(SetArg::TCSADRAIN, cfmakeraw)
    }

    /// Switches off the echo of input; returns `None` if the input is not a terminal.
    pub fn hidden() -> Option<Self> {
        Self::change_mode(SetArg::TCSAFLUSH, |mode| {
            mode.local_flags.remove(LocalFlags::ECHO);
            mode.local_flags.insert(LocalFlags::ECHONL);
        })
    }

    fn change_mode(apply_at: SetArg, change: impl FnOnce(&mut Termios)) -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut mode = before.clone();
        change(&mut mode);
        tcsetattr(std::io::stdin(), apply_at, &mode).ok()?;
        Some(Self { before })
    }
}

impl Drop for InputMode {
    fn drop(&mut self) {
        // If the mode cannot be restored, the terminal is gone.
        tcsetattr(std::io::stdin(), SetArg::TCSADRAIN, &self.before).ok();
    }
}
