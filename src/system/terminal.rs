//! The terminal that this process writes to and reads from.

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// How many columns it has; none where there is no terminal.
pub fn width() -> Option<u16> {
    terminal_size::terminal_size().map(|(width, _)| width.0)
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
