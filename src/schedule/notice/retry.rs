//! The times of the attempts to deliver a notice.

use std::time::Duration;

use jiff::Timestamp;

/// The delay before the second attempt.
const FIRST_DELAY: Duration = Duration::from_secs(10);

/// The longest delay between two attempts.
const MAX_DELAY: Duration = Duration::from_hours(1);

/// The time after which no attempt is made any more.
const GIVE_UP_AFTER: Duration = Duration::from_hours(24);

/// Returns the time of the next attempt after `attempts` failed ones. None if the notice is too old.
///
/// The delay doubles with each attempt. A random part of up to a half is taken off, so that many senders do not come
/// back at the same moment.
pub fn next_attempt(
    attempts: u32,
    created: Timestamp,
    now: Timestamp,
    random: u64,
) -> Option<Timestamp> {
    let doublings = attempts.saturating_sub(1).min(20);
    let delay = FIRST_DELAY.saturating_mul(1 << doublings).min(MAX_DELAY);
    let half = u64::try_from(delay.as_millis() / 2)
        .unwrap_or(u64::MAX)
        .max(1);
    let delay = delay.saturating_sub(Duration::from_millis(random % half));
    let next = now.checked_add(delay).ok()?;
    let last = created.checked_add(GIVE_UP_AFTER).ok()?;
    (next <= last).then_some(next)
}

/// Returns true if an attempt is due. A time that lies further ahead than any delay is due too: the clock went back
/// since it was set.
pub fn is_due(next: Timestamp, now: Timestamp) -> bool {
    let furthest = now.checked_add(MAX_DELAY).unwrap_or(Timestamp::MAX);
    next <= now || next > furthest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    #[test]
    fn delays_double_up_to_an_hour_and_end_after_a_day() {
        let mut now = at(0);
        let mut delays = Vec::new();
        for attempts in 1.. {
            let Some(next) = next_attempt(attempts, at(0), now, 0) else {
                break;
            };
            delays.push(next.duration_since(now).as_secs());
            now = next;
        }
        assert_eq!(
            delays[..10],
            [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600]
        );
        assert!(delays[10..].iter().all(|delay| *delay == 3600));
        let total: i64 = delays.iter().sum();
        assert!((82_800..=86_400).contains(&total), "{total}");
    }

    #[test]
    fn a_random_part_shortens_a_delay_by_less_than_a_half() {
        for random in [0, 1, 4_999, 5_000, u64::MAX] {
            let next = next_attempt(1, at(0), at(0), random).unwrap();
            let delay = next.duration_since(at(0)).as_millis();
            assert!((5_000..=10_000).contains(&delay), "{delay}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_holds_no_notice() {
        assert!(is_due(at(0), at(0)));
        assert!(!is_due(at(1), at(0)));
        assert!(!is_due(at(3600), at(0)));
        assert!(is_due(at(3601), at(0)));
    }
}
