//! Numbers with units, such as `10 GB`.

use super::definition::ScalarKind;

/// A unit and how many base units it stands for.
type Unit = (&'static str, f64);

const SIZE: &[Unit] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KiB", 1024.0),
    ("MB", 1e6),
    ("MiB", 1_048_576.0),
    ("GB", 1e9),
    ("GiB", 1_073_741_824.0),
    ("TB", 1e12),
    ("TiB", 1_099_511_627_776.0),
];
const TIME: &[Unit] = &[
    ("d", 86_400.0),
    ("h", 3_600.0),
    ("m", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("ns", 1e-9),
];
const FREQUENCY: &[Unit] = &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];
const BITRATE: &[Unit] = &[
    ("bps", 1.0),
    ("Kbps", 1e3),
    ("Kibps", 1024.0),
    ("Mbps", 1e6),
    ("Mibps", 1_048_576.0),
    ("Gbps", 1e9),
    ("Gibps", 1_073_741_824.0),
    ("Tbps", 1e12),
    ("Tibps", 1_099_511_627_776.0),
];

/// A number with a unit, read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scalar<'t> {
    /// The number as written.
    pub(super) number: &'t str,
    /// The unit as the standard writes it.
    pub(super) unit: &'static str,
    /// How many base units that is.
    pub(super) base: f64,
}

impl ScalarKind {
    /// The units that measure it.
    pub(super) fn units(self) -> &'static [Unit] {
        match self {
            Self::Size => SIZE,
            Self::Time => TIME,
            Self::Frequency => FREQUENCY,
            Self::Bitrate => BITRATE,
        }
    }

    /// Reads a number with a unit; the case of the unit does not count.
    pub(super) fn read(self, text: &str) -> Option<Scalar<'_>> {
        let text = text.trim();
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let value: f64 = number.parse().ok()?;
        let unit = unit.trim_start();
        let units = self.units();
        let (unit, factor) = units.iter().find(|(known, _)| *known == unit).or_else(|| {
            units
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(unit))
        })?;
        Some(Scalar {
            number,
            unit,
            base: value * factor,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_read() {
        let read = |text| {
            ScalarKind::Size
                .read(text)
                .map(|scalar| (scalar.base, scalar.unit))
        };
        assert_eq!(read("10 GB"), Some((1e10, "GB")));
        assert_eq!(read("1.5mib"), Some((1_572_864.0, "MiB")));
        assert_eq!(read("10"), None);
        assert_eq!(read("GB"), None);
        assert_eq!(read("1 GHz"), None);
        assert_eq!(
            ScalarKind::Time.read("2 h").map(|scalar| scalar.base),
            Some(7200.0)
        );
    }
}
