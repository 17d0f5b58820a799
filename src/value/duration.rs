//! Durations with units, such as `1.5h`, parsed into seconds.

/// The reason why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text does not begin with a number of zero or more.
    #[error("a duration must be a number, optionally followed by `ms`, `s`, `m` or `h`")]
    Number,
    /// The text after the number is not a known unit.
    #[error("`{0}` is not a unit of time; use `ms`, `s`, `m` or `h`")]
    Unit(String),
}

/// Parses a number without a unit or with `ms`, `s`, `m` or `h`, and returns seconds.
///
/// The result is zero or more. A product that exceeds the range of a float is infinite.
pub fn seconds(text: &str) -> Result<f64, DurationError> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = match digits.parse() {
        Ok(number) if f64::is_finite(number) && number >= 0.0 => number,
        _ => return Err(DurationError::Number),
    };
    match &text[digits.len()..] {
        "ms" => Ok(number / 1000.0),
        "" | "s" => Ok(number),
        "m" => Ok(number * 60.0),
        "h" => Ok(number * 3600.0),
        unit => Err(DurationError::Unit(unit.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_with_or_without_a_unit() {
        for (text, expected) in [
            ("2", 2.0),
            (" 0.5s ", 0.5),
            ("250ms", 0.25),
            ("3m", 180.0),
            ("1.5h", 5400.0),
            ("1e308h", f64::INFINITY),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn all_else_is_none() {
        for text in ["", "s", "-1", "inf", "nan", "1e999", "1 s x 2"] {
            assert_eq!(seconds(text), Err(DurationError::Number), "{text}");
        }
        assert_eq!(seconds("1d"), Err(DurationError::Unit("d".to_owned())));
    }
}
