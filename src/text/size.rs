//! Sizes in bytes, such as `512`, `64K` or `1.5G`.

/// The units with their number of bytes, as powers of 1024.
const UNITS: [(&str, u64); 5] = [
    ("B", 1),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
];

/// Parses a size: a number with an optional unit `B`, `K`, `M`, `G` or `T`, also written `KB` or
/// `KiB`. None if the text is not a size.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.to_ascii_uppercase();
    let unit = match unit.as_str() {
        "" | "B" => "B",
        unit => unit
            .strip_suffix("IB")
            .or(unit.strip_suffix('B'))
            .unwrap_or(unit),
    };
    let (_, bytes) = UNITS.iter().find(|(name, _)| *name == unit)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*bytes);
    }
    let (whole, digits) = number.split_once('.')?;
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(*bytes)?;
    let scale = 10_u128.pow(u32::try_from(digits.len()).ok()?);
    let part = digits.parse::<u128>().ok()? * u128::from(*bytes) / scale;
    whole.checked_add(u64::try_from(part).ok()?)
}

/// Formats a number of bytes exactly: with the largest unit that needs at most one decimal digit, such as
/// `1.5 GiB`.
pub fn format_size(bytes: u64) -> String {
    for (name, unit) in UNITS.iter().skip(1).rev() {
        let tenths = u128::from(bytes) * 10;
        if bytes < *unit || tenths % u128::from(*unit) != 0 {
            continue;
        }
        let tenths = tenths / u128::from(*unit);
        return match tenths % 10 {
            0 => format!("{} {name}iB", tenths / 10),
            tenth => format!("{}.{tenth} {name}iB", tenths / 10),
        };
    }
    format!("{bytes} bytes")
}

/// Formats a number of bytes for people: with the largest unit that fits, and one decimal digit, such as `1.5 GiB`.
pub fn approximate_size(bytes: u64) -> String {
    let fits = |(_, unit): &&(&str, u64)| bytes >= *unit;
    match UNITS.iter().skip(1).rev().find(fits) {
        Some((name, unit)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(*unit);
            format!("{}.{} {name}iB", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit_or_is_in_bytes() {
        assert_eq!(parse_size("512"), Some(512));
        assert_eq!(parse_size("10b"), Some(10));
        assert_eq!(parse_size("64K"), Some(64 << 10));
        assert_eq!(parse_size("2 MiB"), None);
        assert_eq!(parse_size("2MiB"), Some(2 << 20));
        assert_eq!(parse_size("1.5GB"), Some(3 << 29));
        for wrong in [
            "",
            "K",
            "-1",
            "1.",
            "1.2.3",
            "1X",
            "99999999T",
            "nan",
            "1e3",
        ] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_size_is_shown_with_its_unit() {
        let all = [0, 1023, 1024, 1536, 2100, 10 << 30, u64::MAX].map(format_size);
        let all = all.join(", ");
        insta::assert_snapshot!(all, @"0 bytes, 1023 bytes, 1 KiB, 1.5 KiB, 2100 bytes, 10 GiB, 18446744073709551615 bytes");
    }
}
