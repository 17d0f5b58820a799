//! The terminal that this process writes to and reads from.

use nix::sys::termios::{LocalFlags, SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};

/// How many columns it has; none where there is no terminal.
pub fn width() -> Option<u16> {
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// How many columns and lines it has; none where there is no terminal.
pub fn size() -> Option<(u16, u16)> {
    let (width, height) = terminal_size::terminal_size()?;
    Some((width.0, height.0))
}

/// A way in which the terminal takes input, as long as this lives; then the way before is back.
#[derive(Debug)]
pub struct InputMode {
    before: Termios,
}

impl InputMode {
    /// Gives the input as it is typed, byte by byte, without any meaning here; none where nobody
    /// types, or the terminal cannot do it.
    pub fn raw() -> Option<Self> {
        Self::change_mode(SetArg::TCSADRAIN, cfmakeraw)
    }

    /// Hides the input; none where nobody types, or it cannot be hidden.
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
        // Where the mode cannot be set, the terminal is gone.
        tcsetattr(std::io::stdin(), SetArg::TCSADRAIN, &self.before).ok();
    }
}
