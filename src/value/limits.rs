//! The limits of size and time that a user can change with global options. The program sets them once, before
//! it reads any file; tests and library users get the defaults.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::units;

/// The limits of this process.
#[derive(Debug, Clone, Copy)]
pub struct ResourceLimits {
    /// The maximum size of parsed text in bytes, for one document and for all documents of one load.
    pub text: usize,
    /// The maximum size in bytes of one value, and of one file that an expression reads.
    pub value: usize,
    /// The maximum CPU time of one evaluation.
    pub evaluation: Duration,
    /// The clock that measures evaluations. Unit tests have their own.
    #[cfg_attr(
        test,
        expect(dead_code, reason = "unit tests have a clock of their own")
    )]
    pub clock: CpuClock,
}

/// A clock of the CPU time of threads, as functions, so that lower modules need no operating system.
#[derive(Debug, Clone, Copy)]
pub struct CpuClock {
    /// Returns the CPU time of the calling thread.
    pub own: fn() -> Duration,
    /// Returns the number of the calling thread.
    pub thread: fn() -> i32,
    /// Returns the CPU time of the thread with a number. None if the thread has ended.
    pub of: fn(i32) -> Option<Duration>,
}

impl CpuClock {
    /// A clock that stands still, so that no evaluation ever takes too long.
    const STOPPED: Self = Self {
        own: || Duration::ZERO,
        thread: || 0,
        of: |_| None,
    };
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            text: 256 << 20,
            value: 16 << 20,
            evaluation: Duration::from_secs(10),
            clock: CpuClock::STOPPED,
        }
    }
}

static LIMITS: OnceLock<ResourceLimits> = OnceLock::new();

/// Sets the limits of this process. Only the first call has an effect.
pub fn set_limits(limits: ResourceLimits) {
    // A later call would change limits that running code relies on.
    LIMITS.set(limits).ok();
}

/// Returns the limits of this process.
pub fn limits() -> &'static ResourceLimits {
    static DEFAULTS: OnceLock<ResourceLimits> = OnceLock::new();
    LIMITS
        .get()
        .unwrap_or_else(|| DEFAULTS.get_or_init(ResourceLimits::default))
}

/// Whether a signal has arrived that ends running evaluations.
static EVALUATION_CANCELLED: AtomicBool = AtomicBool::new(false);

/// Ends running evaluations at their next step, or allows evaluations again.
pub fn cancel_evaluations(cancel: bool) {
    EVALUATION_CANCELLED.store(cancel, Ordering::Relaxed);
}

/// Whether running evaluations must end.
pub fn is_evaluation_cancelled() -> bool {
    EVALUATION_CANCELLED.load(Ordering::Relaxed)
}

/// Formats a number of bytes with the largest unit that divides it, such as `16 MiB`.
pub fn size_text(bytes: usize) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >> shift > 0 && bytes.trailing_zeros() >= shift {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} bytes")
}

/// Parses a size: a whole number of bytes, or a number with a unit such as `512MiB` or `1.5 GB`.
pub fn parse_size(text: &str) -> Result<usize, String> {
    let wrong = || format!("`{text}` is not a size; write a size such as `512MiB` or `1GiB`");
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor = match unit {
        "" => 1.0,
        unit => units::find(units::SIZE, unit).ok_or_else(wrong)?.1,
    };
    let bytes = (number * factor).floor();
    // More than the range of `usize` saturates.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is finite, not negative, and saturates"
    )]
    let bytes = bytes as usize;
    if bytes == 0 {
        return Err("a size must be at least 1 byte".to_owned());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit_or_is_in_bytes() {
        for (text, size) in [
            ("1", 1),
            (" 512MiB ", 512 << 20),
            ("1 GiB", 1 << 30),
            ("1.5kb", 1500),
            ("2mib", 2 << 20),
            ("99999999999999999999999TiB", usize::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
        for text in ["", "0", "0.5", "-1", "MiB", "1 2", "1e3", "1XB", "nan", "."] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_is_shown_with_its_largest_whole_unit() {
        for (size, text) in [
            (1 << 30, "1 GiB"),
            (16 << 20, "16 MiB"),
            (1536, "1536 bytes"),
            (3 << 10, "3 KiB"),
            (0, "0 bytes"),
        ] {
            assert_eq!(size_text(size), text);
        }
    }
}
