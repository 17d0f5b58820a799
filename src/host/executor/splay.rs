//! The delay of each host, so that not all hosts act at the same time (X14).

use std::time::Duration;

/// The number of slots that the time is divided into; a power of two.
const SLOTS: u32 = 8192;

/// Returns the slot of a host: the one-at-a-time hash of its name, by Bob Jenkins.
pub(super) fn name_slot(host: &str) -> u32 {
    let mixed = host.chars().fold(0_u32, |hash, c| {
        let hash = hash.wrapping_add(u32::from(c));
        let hash = hash.wrapping_add(hash << 10);
        hash ^ (hash >> 6)
    });
    let hash = mixed.wrapping_add(mixed << 3);
    let hash = hash ^ (hash >> 11);
    hash.wrapping_add(hash << 15) & (SLOTS - 1)
}

/// Returns the delay of a host in whole seconds, less than `seconds`.
pub(super) fn delay_by_name(host: &str, seconds: u32) -> Duration {
    let whole = u64::from(seconds) * u64::from(name_slot(host)) / u64::from(SLOTS);
    Duration::from_secs(whole)
}

/// Returns the delay of the host with this rank, counted from 0.
///
/// The `of` hosts are spread evenly over `seconds`.
pub(super) fn delay_by_rank(rank: u32, of: u32, seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds)) * rank.min(of) / of.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_the_time_that_salt_gives_it() {
        let vectors = [
            ("golden", 3379, 123, 12),
            ("web1", 6399, 234, 23),
            ("web2", 5595, 204, 20),
            ("db1", 4335, 158, 15),
            ("minion", 2482, 90, 9),
            ("a", 5186, 189, 18),
            ("", 0, 0, 0),
        ];
        for (host, part, long, short) in vectors {
            assert_eq!(name_slot(host), part, "{host}");
            assert_eq!(delay_by_name(host, 300).as_secs(), long, "{host}");
            assert_eq!(delay_by_name(host, 30).as_secs(), short, "{host}");
        }
    }

    #[test]
    fn ranks_are_spread_evenly() {
        let at = |rank| delay_by_rank(rank, 4, 10).as_millis();
        assert_eq!([at(0), at(1), at(2), at(3)], [0, 2500, 5000, 7500]);
        assert_eq!(delay_by_rank(3, 0, 10), Duration::from_secs(0));
    }
}
