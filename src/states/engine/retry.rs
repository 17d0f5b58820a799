//! The `retry` option of a state: how often a failed state is tried again (S35).

use std::time::Duration;

use crate::value::Value;

/// The settings of the `retry` option, with Salt's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Retry {
    /// The maximum number of attempts, including the first.
    pub(super) attempts: i64,
    /// The pause between two attempts, in seconds.
    pub(super) interval: i64,
    /// The maximum number of seconds added to the interval at random.
    pub(super) splay: i64,
    /// The result to wait for, normally `true`.
    pub(super) until: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 2,
            interval: 30,
            splay: 0,
            until: true,
        }
    }
}

impl Retry {
    /// Reads the option. Invalid values count as absent.
    pub(super) fn read(written: &Value) -> Self {
        let mut retry = Self::default();
        match written.reveal() {
            Value::Bool(false) => retry.attempts = 0,
            Value::Map(map) => {
                let int = |key: &str| match map.get(key).map(Value::reveal) {
                    Some(Value::Int(number)) => Some(*number),
                    Some(Value::Bool(truth)) => Some(i64::from(*truth)),
                    _ => None,
                };
                retry.attempts = int("attempts").unwrap_or(retry.attempts);
                retry.interval = int("interval").unwrap_or(retry.interval);
                retry.splay = int("splay").unwrap_or(retry.splay);
                if let Some(Value::Bool(until)) = map.get("until").map(Value::reveal) {
                    retry.until = *until;
                }
            }
            _ => {}
        }
        retry
    }

    /// Whether the state is tried again after this many attempts.
    pub(super) fn should_retry(&self, attempts: i64, result: Option<bool>) -> bool {
        Some(self.until) != result && self.attempts > attempts
    }

    /// The pause before the next attempt. The random part is derived from the seed.
    pub(super) fn pause(&self, seed: u64) -> Duration {
        let splay = u64::try_from(self.splay).unwrap_or(0);
        let interval = u64::try_from(self.interval).unwrap_or(0);
        let random = scramble(seed) % splay.saturating_add(1).max(1);
        Duration::from_secs(interval.saturating_add(random))
    }

    /// The note in the comment of a dry run.
    pub(super) fn dry_run_note(&self) -> String {
        let Self {
            attempts,
            interval,
            splay,
            until,
        } = self;
        let until = if *until { "True" } else { "False" };
        format!(
            "  The state would be retried every {interval} seconds (with a splay of up to {splay} \
             seconds) a maximum of {attempts} times or until a result of {until} is returned"
        )
    }
}

/// Scrambles a seed so that close seeds give very different numbers.
fn scramble(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn true_is_two_attempts_and_half_a_minute() {
        let retry = Retry::read(&true.into());
        assert_eq!(retry, Retry::default());
        assert!(retry.should_retry(1, Some(false)));
        assert!(!retry.should_retry(1, Some(true)));
        assert!(!retry.should_retry(2, Some(false)));
        assert_eq!(retry.pause(7), Duration::from_secs(30));
    }

    #[test]
    fn what_is_not_valid_is_as_if_it_were_missing() {
        let written = Value::map([
            ("attempts", Value::str("5")),
            ("interval", 3.into()),
            ("until", 0.into()),
        ]);
        let expected = Retry {
            interval: 3,
            ..Retry::default()
        };
        assert_eq!(Retry::read(&written), expected);
        assert!(!Retry::read(&false.into()).should_retry(1, Some(false)));
    }

    #[test]
    fn a_splay_adds_at_most_so_many_seconds() {
        let retry = Retry {
            splay: 3,
            ..Retry::default()
        };
        assert!((0..100).all(|seed| (30..=33).contains(&retry.pause(seed).as_secs())));
    }
}
