//! The terminal that this process writes to.

/// How many columns it has; none where there is no terminal.
pub fn width() -> Option<u16> {
    terminal_size::terminal_size().map(|(width, _)| width.0)
}
