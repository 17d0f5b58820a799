//! Durations in the format of OpenSSH: `90`, `1m30s`, `2h`.

use std::time::Duration;

/// Parses a duration.
///
/// None if the text is invalid or the number of seconds does not fit in 31 bits.
pub(super) fn read(text: &str) -> Option<Duration> {
    if text.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let count: u64 = rest[..end].parse().ok()?;
        let (unit, behind) = match rest[end..].chars().next() {
            None => (1, rest.len()),
            Some('s' | 'S') => (1, end + 1),
            Some('m' | 'M') => (60, end + 1),
            Some('h' | 'H') => (3600, end + 1),
            Some('d' | 'D') => (86_400, end + 1),
            Some('w' | 'W') => (604_800, end + 1),
            Some(_) => return None,
        };
        total = total.checked_add(count.checked_mul(unit)?)?;
        rest = &rest[behind..];
    }
    i32::try_from(total).ok()?;
    Some(Duration::from_secs(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units_add_up() {
        assert_eq!(read("90"), Some(Duration::from_secs(90)));
        assert_eq!(read("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(read("1w2D"), Some(Duration::from_hours(216)));
        for none in ["", "m", "-1", "1x", "1.5", "99999999999", "1 m"] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
