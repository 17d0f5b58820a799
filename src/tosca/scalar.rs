//! Numbers with units, such as `10 GB` (the `scalar-unit` types of TOSCA).
//!
//! `ScalarKind::read` parses them. Comparisons use the value in the base unit.

use super::definition::ScalarKind;
use crate::value::units::{self, Units};

/// A parsed number with a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScalarUnit<'t> {
    /// The number as written, without the unit.
    pub(super) number: &'t str,
    /// The unit in the spelling of the TOSCA standard.
    pub(super) unit: &'static str,
    /// The value in the base unit, such as bytes.
    pub(super) base: f64,
}

impl ScalarKind {
    /// Returns the units of the kind, with their factors.
    pub(super) fn units(self) -> Units {
        match self {
            Self::Size => units::SIZE,
            Self::Time => units::TIME,
            Self::Frequency => units::FREQUENCY,
            Self::Bitrate => units::BITRATE,
        }
    }

    /// Parses a number with a unit. The case of the unit is ignored.
    pub(super) fn read(self, text: &str) -> Option<ScalarUnit<'_>> {
        let text = text.trim();
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let value: f64 = number.parse().ok()?;
        let unit = unit.trim_start();
        let (unit, factor) = units::find(self.units(), unit)?;
        Some(ScalarUnit {
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
