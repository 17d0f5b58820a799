//! Versions of Python packages and the conditions on them, by PEP 440.

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex::Regex;

/// Matches a version: epoch, release, pre-, post- and development release, and the local part.
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)^\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
          (?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_n>\d*))?
          (?:-(?P<post_n1>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n2>\d*))?
          (?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>\d*))?
          (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*$",
    )
    .expect("it is a pattern")
});

/// A version of a Python package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PythonVersion {
    epoch: u64,
    release: Vec<u64>,
    /// The phase (0 for alpha, 1 for beta, 2 for a candidate) and the number.
    pre: Option<(u8, u64)>,
    post: Option<u64>,
    dev: Option<u64>,
    local: Vec<LocalPart>,
}

/// A part of the local version. Words come before numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum LocalPart {
    Word(String),
    Number(u64),
}

impl PythonVersion {
    /// Parses a version; None if the text is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let found = VERSION.captures(text)?;
        let group = |name: &str| found.name(name).map(|it| it.as_str());
        let number = |text: &str| {
            if text.is_empty() {
                Some(0)
            } else {
                text.parse().ok()
            }
        };
        let numbered = |name: &str| match group(name) {
            Some(text) => number(text).map(Some),
            None => Some(None),
        };
        let release = group("release")?.split('.').map(str::parse);
        let pre = match group("pre").map(str::to_ascii_lowercase).as_deref() {
            Some("a" | "alpha") => Some(0),
            Some("b" | "beta") => Some(1),
            Some(_) => Some(2),
            None => None,
        };
        let local = group("local").unwrap_or_default().to_ascii_lowercase();
        let parts = local.split(['-', '_', '.']).filter(|part| !part.is_empty());
        Some(Self {
            epoch: numbered("epoch")?.unwrap_or(0),
            release: release.collect::<Result<_, _>>().ok()?,
            pre: match pre {
                Some(phase) => Some((phase, numbered("pre_n")?.unwrap_or(0))),
                None => None,
            },
            post: numbered("post_n1")?.or(numbered("post_n2")?),
            dev: numbered("dev_n")?,
            local: parts
                .map(|part| {
                    let number = part.parse().map(LocalPart::Number);
                    number.unwrap_or_else(|_| LocalPart::Word(part.to_owned()))
                })
                .collect(),
        })
    }

    /// Returns true for a version before the final release.
    fn is_pre_release(&self) -> bool {
        self.pre.is_some() || self.dev.is_some()
    }

    fn without_local(&self) -> Self {
        Self {
            local: Vec::new(),
            ..self.clone()
        }
    }

    fn release_part(&self, index: usize) -> u64 {
        self.release.get(index).copied().unwrap_or(0)
    }

    fn cmp_release(&self, other: &Self) -> Ordering {
        let count = self.release.len().max(other.release.len());
        let parts = |version: &Self| -> Vec<u64> {
            (0..count)
                .map(|index| version.release_part(index))
                .collect()
        };
        parts(self).cmp(&parts(other))
    }
}

impl PartialOrd for PythonVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PythonVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        // A development release without another phase comes before all phases, a final release after them.
        let phase = |version: &Self| match (version.pre, version.post, version.dev) {
            (Some((phase, number)), ..) => (1, phase, number),
            (None, None, Some(_)) => (0, 0, 0),
            (None, ..) => (2, 0, 0),
        };
        let post = |version: &Self| version.post.map_or((0, 0), |number| (1, number));
        let dev = |version: &Self| version.dev.map_or((1, 0), |number| (0, number));
        let key = |version: &Self| (phase(version), post(version), dev(version));
        self.epoch
            .cmp(&other.epoch)
            .then_with(|| self.cmp_release(other))
            .then_with(|| key(self).cmp(&key(other)))
            .then_with(|| self.local.cmp(&other.local))
    }
}

/// A condition on versions, such as `>=1.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VersionCondition {
    pub(super) operator: String,
    pub(super) version: String,
}

/// The operators, longer ones first.
const OPERATORS: [&str; 8] = ["===", "~=", "==", "!=", "<=", ">=", "<", ">"];

impl VersionCondition {
    /// Parses a condition; None if the text is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let operator = OPERATORS.into_iter().find(|it| text.starts_with(it))?;
        let version = text[operator.len()..].trim();
        let bare = version.strip_suffix(".*").unwrap_or(version);
        let is_valid = operator == "===" || PythonVersion::parse(bare).is_some();
        (is_valid && !version.is_empty()).then(|| Self {
            operator: operator.to_owned(),
            version: version.to_owned(),
        })
    }

    /// Returns true if a version fulfils the condition.
    pub(super) fn accepts(&self, text: &str) -> bool {
        let (operator, wanted) = (&*self.operator, &*self.version);
        if operator == "===" {
            return text.eq_ignore_ascii_case(wanted);
        }
        let Some(version) = PythonVersion::parse(text) else {
            return false;
        };
        if let Some(prefix) = wanted.strip_suffix(".*").and_then(PythonVersion::parse) {
            return (operator == "==") == has_prefix(&version, &prefix);
        }
        let Some(wanted) = PythonVersion::parse(wanted) else {
            return false;
        };
        let public = version.without_local();
        let is_same = if wanted.local.is_empty() {
            public.cmp(&wanted) == Ordering::Equal
        } else {
            version.cmp(&wanted) == Ordering::Equal
        };
        match operator {
            "==" => is_same,
            "!=" => !is_same,
            "<=" => public <= wanted,
            ">=" => public >= wanted,
            "<" => {
                let is_phase = is_phase_of(&version, &wanted) && !wanted.is_pre_release();
                public < wanted && !is_phase
            }
            ">" => version > wanted && !is_same && !is_post_of(&version, &wanted),
            "~=" => {
                let mut prefix = wanted.clone();
                prefix.release.pop();
                prefix.pre = None;
                public >= wanted && has_prefix(&version, &prefix)
            }
            _ => false,
        }
    }
}

/// Returns true if the release of a version begins with that of another one.
fn has_prefix(version: &PythonVersion, prefix: &PythonVersion) -> bool {
    version.epoch == prefix.epoch
        && (0..prefix.release.len())
            .all(|index| version.release_part(index) == prefix.release_part(index))
}

/// Returns true for a pre-release of another version.
fn is_phase_of(version: &PythonVersion, other: &PythonVersion) -> bool {
    version.is_pre_release() && version.cmp_release(other) == Ordering::Equal
}

/// Returns true for a post-release of another version.
fn is_post_of(version: &PythonVersion, other: &PythonVersion) -> bool {
    version.post.is_some() && other.post.is_none() && version.cmp_release(other) == Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_phases() {
        let words = [
            "1.0.dev1",
            "1.0a1",
            "1.0a2.dev1",
            "1.0a2",
            "1.0b1",
            "1.0rc1",
            "1.0",
            "1.0+a",
            "1.0+1",
            "1.0.post1.dev1",
            "1.0.post1",
            "1.1",
            "1.10",
            "1!0.1",
        ];
        let versions: Vec<PythonVersion> = words
            .iter()
            .map(|text| PythonVersion::parse(text).unwrap())
            .collect();
        assert!(versions.is_sorted());
        assert_eq!(
            PythonVersion::parse("1.0").cmp(&PythonVersion::parse("1.0.0")),
            Ordering::Equal
        );
        assert!(PythonVersion::parse("one").is_none());
    }

    #[test]
    fn conditions_accept_versions() {
        let cases = [
            ("==1.0", "1.0.0", true),
            ("==1.0", "1.0+local", true),
            ("==1.*", "1.9", true),
            ("!=1.*", "1.9", false),
            (">=1.5", "1.10", true),
            (">1.0", "1.0.post1", false),
            ("<1.0", "1.0rc1", false),
            ("<=2", "1.9", true),
            ("~=1.4.2", "1.4.9", true),
            ("~=1.4.2", "1.5", false),
            ("===1.0", "1.0.0", false),
        ];
        for (condition, version, is_accepted) in cases {
            let condition = VersionCondition::parse(condition).unwrap();
            assert_eq!(
                condition.accepts(version),
                is_accepted,
                "{condition:?} {version}"
            );
        }
        assert!(VersionCondition::parse("=1.0").is_none());
    }
}
