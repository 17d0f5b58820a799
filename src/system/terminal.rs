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

/// What is typed is given as it is, byte by byte, and means nothing here, as long as this lives.
#[derive(Debug)]
pub struct RawInput {
    before: Termios,
}

impl RawInput {
    /// Begins now; none where nobody types, or the terminal cannot do it.
    pub fn begin() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(std::io::stdin(), SetArg::TCSADRAIN, &raw).ok()?;
        Some(Self { before })
    }
}

impl Drop for RawInput {
    fn drop(&mut self) {
        // Where it cannot be, the terminal is gone.
        tcsetattr(std::io::stdin(), SetArg::TCSADRAIN, &self.before).ok();
    }
}

/// What is typed is not shown as long as this lives.
#[derive(Debug)]
pub struct HiddenInput {
    before: Termios,
}

impl HiddenInput {
    /// Hides what is typed from now on; none where nobody types, or it cannot be hidden.
    pub fn begin() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.local_flags.remove(LocalFlags::ECHO);
        hidden.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(std::io::stdin(), SetArg::TCSAFLUSH, &hidden).ok()?;
        Some(Self { before })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // Where it cannot be, the terminal is gone.
        tcsetattr(std::io::stdin(), SetArg::TCSADRAIN, &self.before).ok();
    }
}
