//! Versions of Debian packages: comparison and constraints.
//!
//! [`compare`] implements the order of Debian policy; [`VersionConstraint`] parses a state's `version`.

use std::cmp::Ordering;

use crate::text::Glob;

/// Compares two versions by Debian's rules: epoch, upstream version, revision.
pub(in crate::states) fn compare(one: &str, other: &str) -> Ordering {
    let (one, other) = (split_version(one), split_version(other));
    one.0
        .cmp(&other.0)
        .then_with(|| compare_part(one.1, other.1))
        .then_with(|| compare_part(one.2, other.2))
}

fn split_version(version: &str) -> (u64, &str, &str) {
    let (epoch, rest) = match version.split_once(':') {
        Some((epoch, rest)) => (epoch.parse().unwrap_or(0), rest),
        None => (0, version),
    };
    let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
    (epoch, upstream, revision)
}

/// Compares two parts of versions by alternating non-digit and digit sequences.
///
/// A tilde sorts before the end of the part, letters before other characters.
fn compare_part(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while !one.is_empty() || !other.is_empty() {
        let (text, other_text) = (
            split_prefix(&mut one, false),
            split_prefix(&mut other, false),
        );
        let order = compare_texts(text, other_text);
        if order != Ordering::Equal {
            return order;
        }
        let (number, other_number) = (split_prefix(&mut one, true), split_prefix(&mut other, true));
        let order = compare_numbers(number, other_number);
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

fn split_prefix<'a>(rest: &mut &'a [u8], digits: bool) -> &'a [u8] {
    let end = rest
        .iter()
        .position(|sign| sign.is_ascii_digit() != digits)
        .unwrap_or(rest.len());
    let (part, after) = rest.split_at(end);
    *rest = after;
    part
}

fn character_weight(sign: Option<u8>) -> i32 {
    match sign {
        Some(b'~') => -1,
        None => 0,
        Some(letter) if letter.is_ascii_alphabetic() => i32::from(letter),
        Some(sign) => i32::from(sign) + 256,
    }
}

fn compare_texts(one: &[u8], other: &[u8]) -> Ordering {
    (0..one.len().max(other.len()))
        .map(|index| {
            character_weight(one.get(index).copied())
                .cmp(&character_weight(other.get(index).copied()))
        })
        .find(|order| *order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

fn compare_numbers(one: &[u8], other: &[u8]) -> Ordering {
    let [one, other] = [one, other].map(|digits| {
        let start = digits.iter().position(|digit| *digit != b'0');
        start.map_or(&[][..], |start| &digits[start..])
    });
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// A condition on a version, such as `>=1.2`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct VersionCondition {
    operator: ComparisonOperator,
    version: String,
}

/// The operator of a version condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComparisonOperator {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// The constraint that a state puts on a package's version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum VersionConstraint {
    #[default]
    Any,
    /// The newest version that apt offers (`latest`).
    Latest,
    /// The given version, which may contain the wildcards `*` and `?`.
    Exact(String),
    /// A version that meets all of these conditions.
    All(Conditions),
}

/// Conditions that a version must meet together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conditions(Vec<VersionCondition>);

impl VersionConstraint {
    /// Parses the text of the argument `version`.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Self::Any;
        }
        if text == "latest" {
            return Self::Latest;
        }
        let conditions: Vec<VersionCondition> = text.split(',').map(parse_condition).collect();
        if let [only] = conditions.as_slice()
            && only.operator == ComparisonOperator::Equal
        {
            return Self::Exact(only.version.clone());
        }
        Self::All(Conditions(conditions))
    }

    /// Whether a version satisfies the constraint. `Latest` accepts any version.
    pub(super) fn accepts(&self, version: &str, ignore_epoch: bool) -> bool {
        match self {
            Self::Any | Self::Latest => true,
            Self::Exact(expected) => {
                meets(version, ComparisonOperator::Equal, expected, ignore_epoch)
            }
            Self::All(Conditions(all)) => all
                .iter()
                .all(|it| meets(version, it.operator, &it.version, ignore_epoch)),
        }
    }
}

fn parse_condition(text: &str) -> VersionCondition {
    const OPERATORS: [(&str, ComparisonOperator); 8] = [
        (">=", ComparisonOperator::AtLeast),
        ("<=", ComparisonOperator::AtMost),
        ("!=", ComparisonOperator::NotEqual),
        ("<>", ComparisonOperator::NotEqual),
        ("==", ComparisonOperator::Equal),
        (">", ComparisonOperator::Greater),
        ("<", ComparisonOperator::Less),
        ("=", ComparisonOperator::Equal),
    ];
    let text = text.trim();
    let found = OPERATORS
        .iter()
        .find_map(|(word, sign)| text.strip_prefix(word).map(|rest| (*sign, rest)));
    let (sign, version) = found.unwrap_or((ComparisonOperator::Equal, text));
    VersionCondition {
        operator: sign,
        version: version.trim().to_owned(),
    }
}

fn meets(version: &str, sign: ComparisonOperator, expected: &str, ignore_epoch: bool) -> bool {
    let [version, expected] = [version, expected].map(|text| match text.split_once(':') {
        Some((_, rest)) if ignore_epoch => rest,
        _ => text,
    });
    if expected.contains(['*', '?']) {
        let is_like = Glob::new(expected).matches(version);
        return (sign != ComparisonOperator::NotEqual) == is_like;
    }
    let order = compare(version, expected);
    match sign {
        ComparisonOperator::Equal => order == Ordering::Equal,
        ComparisonOperator::NotEqual => order != Ordering::Equal,
        ComparisonOperator::Less => order == Ordering::Less,
        ComparisonOperator::AtMost => order != Ordering::Greater,
        ComparisonOperator::Greater => order == Ordering::Greater,
        ComparisonOperator::AtLeast => order != Ordering::Less,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_dpkg_orders_them() {
        let pairs = [
            ("1.0", "1.0", Ordering::Equal),
            ("1.0", "1.1", Ordering::Less),
            ("1.9", "1.10", Ordering::Less),
            ("1.0~rc1", "1.0", Ordering::Less),
            ("1.0-1", "1.0-1+b1", Ordering::Less),
            ("1:0.1", "9.9", Ordering::Greater),
            ("0:1.0", "1.0", Ordering::Equal),
            ("1.0-1~deb12u1", "1.0-1", Ordering::Less),
            ("1.0a", "1.0+", Ordering::Less),
            ("1.001", "1.1", Ordering::Equal),
            ("2.0", "2.0-0", Ordering::Equal),
            ("7.88.1-10+deb12u12", "7.88.1-10+deb12u9", Ordering::Greater),
        ];
        for (one, other, order) in pairs {
            assert_eq!(compare(one, other), order, "{one} and {other}");
            assert_eq!(compare(other, one), order.reverse(), "{other} and {one}");
        }
    }

    #[test]
    fn a_version_is_any_the_latest_one_or_several_conditions() {
        assert_eq!(VersionConstraint::parse(""), VersionConstraint::Any);
        assert_eq!(
            VersionConstraint::parse("latest"),
            VersionConstraint::Latest
        );
        assert_eq!(
            VersionConstraint::parse("==1.2"),
            VersionConstraint::Exact("1.2".into())
        );
        assert!(VersionConstraint::parse(">=1.2,<2").accepts("1.9-1", false));
        assert!(!VersionConstraint::parse(">=1.2,<2").accepts("2.0", false));
        assert!(VersionConstraint::parse("1.2*").accepts("1.22.1-9", false));
        assert!(!VersionConstraint::parse("1.2.*").accepts("1.22.1-9", false));
        assert!(VersionConstraint::parse("1.2-1").accepts("1:1.2-1", true));
        assert!(!VersionConstraint::parse("1.2-1").accepts("1:1.2-1", false));
        assert!(VersionConstraint::parse("!=1.2").accepts("1.3", false));
    }
}
