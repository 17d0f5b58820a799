//! Versions, and requirements on versions such as `^1.2`.
//!
//! Constraints on values of the type `version` use this file. The rules are those of semantic versioning.

use std::cmp::Ordering;

/// The numbers of a version, and the qualifier after a dash. Missing numbers are zero.
type VersionParts = ([u64; 4], Option<String>);

/// Parses a version such as `1`, `1.2`, `1.2.0` or `1.2.0.beta-3`.
fn parts(text: &str) -> Option<VersionParts> {
    let text = text.trim().trim_start_matches(['v', 'V']);
    let (text, _build) = text.split_once('+').unwrap_or((text, ""));
    let (numbers, qualifier) = match text.split_once('-') {
        Some((numbers, qualifier)) => (numbers, Some(qualifier.to_owned())),
        None => (text, None),
    };
    let mut found = [0; 4];
    for (count, part) in numbers.split('.').enumerate() {
        match part.parse() {
            Ok(number) if count < found.len() => found[count] = number,
            _ if count >= 3 => {}
            _ => return None,
        }
    }
    Some((found, qualifier))
}

/// Whether the text is a valid version.
pub(super) fn is_version(text: &str) -> bool {
    parts(text).is_some()
}

/// Compares two versions. Returns `None` if either is invalid.
pub(super) fn compare(left: &str, right: &str) -> Option<Ordering> {
    let (left, right) = (parts(left)?, parts(right)?);
    Some(compare_parts(&left, &right))
}

fn compare_parts(left: &VersionParts, right: &VersionParts) -> Ordering {
    left.0
        .cmp(&right.0)
        .then_with(|| match (&left.1, &right.1) {
            (None, None) => Ordering::Equal,
            // A release is greater than its pre-releases.
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(left), Some(right)) => left.cmp(right),
        })
}

/// Whether a version meets a requirement such as `^1.2`, `~1.2.3` or `>=1, <2`.
///
/// Returns `None` if either is invalid.
pub(super) fn admits(requirement: &str, version: &str) -> Option<bool> {
    let version = parts(version)?;
    for clause in requirement.split(',') {
        if !clause_admits(clause.trim(), &version)? {
            return Some(false);
        }
    }
    Some(true)
}

fn clause_admits(clause: &str, version: &VersionParts) -> Option<bool> {
    if clause.is_empty() || clause == "*" {
        return Some(true);
    }
    let end = clause.find(|c: char| c.is_ascii_digit() || c == 'v')?;
    let (operator, text) = clause.split_at(end);
    let text = text.trim_end_matches(".*").trim_end_matches(".x");
    let required = parts(text)?;
    let specified = text.split('-').next().unwrap_or(text).split('.').count();
    let least = compare_parts(version, &required) != Ordering::Less;
    Some(match operator.trim() {
        "=" | "==" | "" if specified < 3 => {
            least && version.0 < next_version(&required, specified - 1)
        }
        "=" | "==" => compare_parts(version, &required) == Ordering::Equal,
        "" | "^" => {
            let first = required
                .0
                .iter()
                .take(specified)
                .position(|number| *number != 0);
            least && version.0 < next_version(&required, first.unwrap_or(specified - 1))
        }
        "~" | "~>" | "~=" => least && version.0 < next_version(&required, (specified - 1).min(1)),
        ">=" => least,
        ">" => compare_parts(version, &required) == Ordering::Greater,
        "<=" => compare_parts(version, &required) != Ordering::Greater,
        "<" => compare_parts(version, &required) == Ordering::Less,
        "!=" => compare_parts(version, &required) != Ordering::Equal,
        _ => return None,
    })
}

/// Returns the lowest version above all versions that have the same numbers up to `place`.
fn next_version(version: &VersionParts, place: usize) -> [u64; 4] {
    let mut numbers = [0; 4];
    for (index, number) in version.0.iter().enumerate().take(place + 1) {
        numbers[index] = *number;
    }
    numbers[place] = numbers[place].saturating_add(1);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_admit_what_semantic_versions_say() {
        let cases = [
            ("^1.2.0", "1.2.5", Some(true)),
            ("^1.2.0", "2.0.0", Some(false)),
            ("^0.2.0", "0.3.0", Some(false)),
            ("~1.2.3", "1.2.5", Some(true)),
            ("~1.2.3", "1.3.0", Some(false)),
            (">= 1.2.0, < 1.5.0", "1.3.5", Some(true)),
            (">= 1.2.0, < 1.5.0", "1.5.0", Some(false)),
            ("1.2", "1.2.9", Some(true)),
            ("1.*", "1.2.9", Some(true)),
            ("=1.2.3", "1.2.3", Some(true)),
            (">1", "x", None),
            ("?1", "1", None),
        ];
        for (requirement, version, expected) in cases {
            assert_eq!(
                admits(requirement, version),
                expected,
                "{requirement} {version}"
            );
        }
        assert_eq!(compare("1.10", "1.9"), Some(Ordering::Greater));
        assert_eq!(compare("1.0.0-rc1", "1.0.0"), Some(Ordering::Less));
    }
}
