//! The limits of size and time that a user can change with global options. The program sets them once, before
//! it reads any file; tests and library users get the defaults.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
