//! Versions of Debian packages: their order, and conditions on them.

use std::cmp::Ordering;

use crate::text::Glob;

/// Compares two versions by Debian's rules: epoch, upstream version, revision.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let (one, other) = (parts(one), parts(other));
    one.0
        .cmp(&other.0)
        .then_with(|| compare_part(one.1, other.1))
        .then_with(|| compare_part(one.2, other.2))
}

fn parts(version: &str) -> (u64, &str, &str) {
    let (epoch, rest) = match version.split_once(':') {
        Some((epoch, rest)) => (epoch.parse().unwrap_or(0), rest),
        None => (0, version),
    };
    let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
    (epoch, upstream, revision)
}

/// Texts and numbers take turns; a tilde comes before the end, letters before other signs.
fn compare_part(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while !one.is_empty() || !other.is_empty() {
        let (text, other_text) = (split(&mut one, false), split(&mut other, false));
        let order = compare_texts(text, other_text);
        if order != Ordering::Equal {
            return order;
        }
        let (number, other_number) = (split(&mut one, true), split(&mut other, true));
        let order = compare_numbers(number, other_number);
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

fn split<'a>(rest: &mut &'a [u8], digits: bool) -> &'a [u8] {
    let end = rest
        .iter()
        .position(|sign| sign.is_ascii_digit() != digits)
        .unwrap_or(rest.len());
    let (part, after) = rest.split_at(end);
    *rest = after;
    part
}

fn weight(sign: Option<u8>) -> i32 {
    match sign {
        Some(b'~') => -1,
        None => 0,
        Some(letter) if letter.is_ascii_alphabetic() => i32::from(letter),
        Some(sign) => i32::from(sign) + 256,
    }
}

fn compare_texts(one: &[u8], other: &[u8]) -> Ordering {
    (0..one.len().max(other.len()))
        .map(|place| weight(one.get(place).copied()).cmp(&weight(other.get(place).copied())))
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
struct Condition {
    sign: Sign,
    version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// What version is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Wanted {
    /// Any.
    #[default]
    Any,
    /// The newest there is.
    Latest,
    /// This one; it may have `*` and `?` in it.
    Exact(String),
    /// One that meets all of these.
    All(Conditions),
}

/// Conditions that a version meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conditions(Vec<Condition>);

impl Wanted {
    /// Reads a version as people write it.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() {
            return Self::Any;
        }
        if text == "latest" {
            return Self::Latest;
        }
        let conditions: Vec<Condition> = text.split(',').map(condition).collect();
        if let [only] = conditions.as_slice()
            && only.sign == Sign::Equal
        {
            return Self::Exact(only.version.clone());
        }
        Self::All(Conditions(conditions))
    }

    /// Whether a version is wanted.
    pub(super) fn takes(&self, version: &str, ignore_epoch: bool) -> bool {
        match self {
            Self::Any | Self::Latest => true,
            Self::Exact(wanted) => meets(version, Sign::Equal, wanted, ignore_epoch),
            Self::All(Conditions(all)) => all
                .iter()
                .all(|it| meets(version, it.sign, &it.version, ignore_epoch)),
        }
    }
}

fn condition(text: &str) -> Condition {
    const SIGNS: [(&str, Sign); 8] = [
        (">=", Sign::AtLeast),
        ("<=", Sign::AtMost),
        ("!=", Sign::NotEqual),
        ("<>", Sign::NotEqual),
        ("==", Sign::Equal),
        (">", Sign::More),
        ("<", Sign::Less),
        ("=", Sign::Equal),
    ];
    let text = text.trim();
    let found = SIGNS
        .iter()
        .find_map(|(word, sign)| text.strip_prefix(word).map(|rest| (*sign, rest)));
    let (sign, version) = found.unwrap_or((Sign::Equal, text));
    Condition {
        sign,
        version: version.trim().to_owned(),
    }
}

fn meets(version: &str, sign: Sign, wanted: &str, ignore_epoch: bool) -> bool {
    let [version, wanted] = [version, wanted].map(|text| match text.split_once(':') {
        Some((_, rest)) if ignore_epoch => rest,
        _ => text,
    });
    if wanted.contains(['*', '?']) {
        let is_like = Glob::new(wanted).matches(version);
        return (sign != Sign::NotEqual) == is_like;
    }
    let order = compare(version, wanted);
    match sign {
        Sign::Equal => order == Ordering::Equal,
        Sign::NotEqual => order != Ordering::Equal,
        Sign::Less => order == Ordering::Less,
        Sign::AtMost => order != Ordering::Greater,
        Sign::More => order == Ordering::Greater,
        Sign::AtLeast => order != Ordering::Less,
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
        assert_eq!(Wanted::parse(""), Wanted::Any);
        assert_eq!(Wanted::parse("latest"), Wanted::Latest);
        assert_eq!(Wanted::parse("==1.2"), Wanted::Exact("1.2".into()));
        assert!(Wanted::parse(">=1.2,<2").takes("1.9-1", false));
        assert!(!Wanted::parse(">=1.2,<2").takes("2.0", false));
        assert!(Wanted::parse("1.2*").takes("1.22.1-9", false));
        assert!(!Wanted::parse("1.2.*").takes("1.22.1-9", false));
        assert!(Wanted::parse("1.2-1").takes("1:1.2-1", true));
        assert!(!Wanted::parse("1.2-1").takes("1:1.2-1", false));
        assert!(Wanted::parse("!=1.2").takes("1.3", false));
    }
}
