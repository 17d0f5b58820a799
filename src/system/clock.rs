//! The system clock, and a format for times with an offset from UTC.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::time::Duration;

use jiff::Timestamp;
use nix::time::{ClockId, clock_gettime};

use super::fault;
use crate::value::limits::CpuClock;

/// The clock of the CPU time of threads.
pub const CPU_CLOCK: CpuClock = CpuClock {
    own: || cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default(),
    thread: || nix::unistd::gettid().as_raw(),
    of: |thread| cpu_time(thread_clock(thread)),
};

fn cpu_time(clock: ClockId) -> Option<Duration> {
    Some(clock_gettime(clock).ok()?.into())
}

/// Returns the clock of the CPU time of a thread, as Linux numbers such clocks.
fn thread_clock(thread: i32) -> ClockId {
    /// The bits for the scheduler's precise time (2) of one thread (4).
    const KIND: i32 = 6;
    ClockId::from_raw((!thread << 3) | KIND)
}

/// Returns the time of the system clock; tests may shift it.
pub fn now() -> Timestamp {
    fault::shifted(Timestamp::now())
}

/// Formats a time, given in seconds since 1970, at an offset from UTC in minutes: `2026-01-31
/// 12:30:00+00:00`. Returns `None` if the time is out of range.
pub fn format_with_offset(seconds: i64, minutes: i32) -> Option<String> {
    let offset = jiff::tz::Offset::from_seconds(minutes.checked_mul(60)?).ok()?;
    let time = Timestamp::from_second(seconds).ok()?;
    let shown = offset
        .to_datetime(time)
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string();
    let sign = if minutes < 0 { '-' } else { '+' };
    let minutes = minutes.unsigned_abs();
    Some(format!(
        "{shown}{sign}{:02}:{:02}",
        minutes / 60,
        minutes % 60
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_on_the_clock_of_its_place() {
        assert_eq!(
            format_with_offset(0, 0).as_deref(),
            Some("1970-01-01 00:00:00+00:00")
        );
        assert_eq!(
            format_with_offset(0, -90).as_deref(),
            Some("1969-12-31 22:30:00-01:30")
        );
        assert_eq!(format_with_offset(i64::MAX, 0), None);
    }

    #[test]
    fn time_does_not_run_backwards() {
        let earlier = now();
        assert!(now() >= earlier);
    }

    #[test]
    fn the_cpu_time_of_a_thread_is_known_to_itself_and_to_others() {
        let (own, other) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            while (CPU_CLOCK.own)() < Duration::from_millis(20) {}
            own.send((CPU_CLOCK.thread)()).unwrap();
            wait.recv().ok();
        });
        let number = other.recv().unwrap();
        assert!((CPU_CLOCK.of)(number).unwrap() >= Duration::from_millis(20));
        drop(done);
        thread.join().unwrap();
        assert_eq!((CPU_CLOCK.of)(number), None);
    }
}
