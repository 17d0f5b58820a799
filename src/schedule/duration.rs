//! Durations as schedules write them.

use std::time::Duration;

use crate::value::seconds;

/// The longest interval, delay or limit.
const MAX_DURATION: Duration = Duration::from_hours(366 * 24);

/// Returns the duration that a text such as `90s`, `15m`, `1.5h` or `30d` stands for, or the reason why it is none.
pub fn read_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, factor) = match text.strip_suffix('d') {
        Some(days) if days.ends_with(|last: char| last.is_ascii_digit()) => (days, 86_400.0),
        _ => (text, 1.0),
    };
    let value = seconds(number).map_err(|_| {
        format!(
            "`{text}` is no duration: write a number with `ms`, `s`, `m`, `h` or `d`, such as `15m`"
        )
    })?;
    let duration = Duration::try_from_secs_f64(value * factor).unwrap_or(Duration::MAX);
    if duration > MAX_DURATION {
        return Err(format!("`{text}` is longer than 366 days"));
    }
    Ok(duration)
}
