//! The times of records: `2026-01-31-23-59-59-000000`, in UTC with microseconds.

/// Formats a time as records contain it: `2026-01-31-23-59-59-000000`, in UTC with microseconds.
pub fn stamp(time: jiff::Timestamp) -> String {
    let utc = time.to_zoned(jiff::tz::TimeZone::UTC);
    let micros = utc.subsec_nanosecond() / 1000;
    format!("{}-{micros:06}", utc.strftime("%Y-%m-%d-%H-%M-%S"))
}

/// Parses a time of a record. The fraction of the second has one to six digits.
pub fn parse_stamp(text: &str) -> Option<jiff::Timestamp> {
    let (seconds, fraction) = text.rsplit_once('-')?;
    let is_fraction = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let micros = format!("{fraction:0<6}").parse::<i64>().ok()?;
    let time = jiff::civil::DateTime::strptime("%Y-%m-%d-%H-%M-%S", seconds).ok()?;
    let fits = is_fraction && (1..=6).contains(&fraction.len());
    let span = jiff::SignedDuration::from_micros(micros);
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    time.checked_add(span).ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_a_record_is_parsed_to_the_microsecond() {
        let text = "2026-01-31-23-59-59-000007";
        assert_eq!(stamp(parse_stamp(text).unwrap()), text);
        for text in [
            "",
            "2026-01-31-23-59-59",
            "2026-01-31-23-59-59-1234567",
            "a-b",
            "2026-13-31-23-59-59-1",
        ] {
            assert_eq!(parse_stamp(text), None, "{text}");
        }
    }
}
