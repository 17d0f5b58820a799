//! Semantic versions, as git tags and models write them.

use std::cmp::Ordering;

/// A semantic version, such as `1.2.3`, `v2.0.0-rc.1`, or `1.0.0.beta-2` of TOSCA. Minor and patch number may be
/// missing.
#[derive(Debug, Clone)]
pub struct Version {
    numbers: [u64; 3],
    /// The identifiers after the first `-`, or the qualifier of TOSCA with its build number.
    pre_release: Vec<Identifier>,
    /// The text after `+`. Versions that differ in it alone have the same precedence.
    build: String,
}

/// A part of a pre-release between dots. Numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Version {
    /// Parses a version; `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = match text.split_once('+') {
            Some((text, build)) => (text, words(build)?.to_owned()),
            None => (text, String::new()),
        };
        let (core, pre) = match text.split_once('-') {
            Some((core, pre)) => (core, Some(words(pre)?)),
            None => (text, None),
        };
        let mut numbers = [0; 3];
        let mut parts = core.split('.');
        let mut count = 0;
        for number in &mut numbers {
            let Some(part) = parts.next() else { break };
            *number = digits(part)?;
            count += 1;
        }
        let qualifier = parts.next();
        let is_complete = count == 3 || (qualifier.is_none() && pre.is_none());
        if count == 0 || parts.next().is_some() || !is_complete {
            return None;
        }
        let qualifier = qualifier
            .map(words)
            .map_or(Some(None), |found| found.map(Some))?;
        let texts = qualifier.into_iter().chain(pre);
        let pre_release = texts.flat_map(|text| text.split('.')).map(identifier);
        Some(Self {
            numbers,
            pre_release: pre_release.collect(),
            build,
        })
    }

    /// Returns the major version.
    pub fn major(&self) -> u64 {
        self.numbers[0]
    }

    /// Whether the version is a pre-release, such as `1.0.0-rc.1`.
    pub fn is_pre_release(&self) -> bool {
        !self.pre_release.is_empty()
    }

    /// Whether a package that offers this version can be used where another is asked for.
    ///
    /// Versions with the major number 0 promise nothing, so version 1 replaces them.
    pub fn shares_major_with(&self, other: &Self) -> bool {
        let of = |version: &Self| version.major().max(1);
        of(self) == of(other)
    }
}

fn digits(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Returns the text if it consists of identifiers between dots.
fn words(text: &str) -> Option<&str> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_sign);
    text.split('.').all(is_word).then_some(text)
}

fn identifier(text: &str) -> Identifier {
    digits(text).map_or_else(|| Identifier::Word(text.to_owned()), Identifier::Number)
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let pre_release = match (self.is_pre_release(), other.is_pre_release()) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            _ => self.pre_release.cmp(&other.pre_release),
        };
        let numbers = self.numbers.cmp(&other.numbers);
        numbers
            .then(pre_release)
            .then_with(|| self.build.cmp(&other.build))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn versions_have_the_order_of_semver() {
        let ordered = [
            "0.9",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "v1.2",
            "1.10.0",
            "2",
        ];
        for pair in ordered.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
        assert_eq!(version("v1.2"), version("1.2.0"));
        assert!(version("1.0.0.beta-2") < version("1.0.0"));
    }

    #[test]
    fn other_texts_are_no_versions() {
        for text in [
            "",
            "v",
            "main",
            "1.",
            "1.2.3.4.5",
            "1.x",
            "1-rc",
            "1.2-rc.1",
            "1.0.0-",
            "1.0.0-a..b",
            "1.0.0+",
            "-1",
            "1.0.0 ",
            "99999999999999999999",
            "1.0.0-é",
            "vv1",
        ] {
            assert!(Version::parse(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_order_is_total_and_parsing_never_panics(
            texts in prop::collection::vec("v?[0-9]{1,2}(\\.[0-9]{1,2}){0,2}(-[a-z0-9.-]{1,6})?(\\+[a-z0-9]{1,3})?", 3),
            junk in ".*",
        ) {
            drop(Version::parse(&junk));
            let all: Vec<Version> = texts.iter().filter_map(|text| Version::parse(text)).collect();
            for a in &all {
                for b in &all {
                    prop_assert_eq!(a.cmp(b), b.cmp(a).reverse());
                    prop_assert_eq!(a == b, a.cmp(b) == Ordering::Equal);
                    for c in &all {
                        prop_assert!(!(a <= b && b <= c) || a <= c);
                    }
                }
            }
        }
    }
}
