//! Requirements of pip: a name with conditions, a file of a package, or an address.

use std::sync::LazyLock;

use regex::Regex;

use super::version::VersionCondition;
use crate::states::{Halt, refuse};

/// A package as a state names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    /// The text of the state.
    pub(super) written: String,
    /// The name of the package; None if only pip can tell it.
    pub(super) name: Option<String>,
    pub(super) conditions: Vec<VersionCondition>,
}

/// Matches a name with extras and conditions.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(.*)$")
        .expect("it is a pattern")
});

/// The programs in whose repositories a package may be.
const REPOSITORIES: [&str; 4] = ["git+", "svn+", "hg+", "bzr+"];

impl Requirement {
    pub(super) fn parse(written: &str) -> Result<Self, Halt> {
        let unnamed = |name: Option<String>, conditions| Self {
            written: written.to_owned(),
            name,
            conditions,
        };
        let is_address =
            written.contains("://") || REPOSITORIES.iter().any(|kind| written.starts_with(kind));
        if is_address && !written.contains(" @ ") {
            let egg = written.split_once("egg=").map(|(_, rest)| rest);
            let egg = egg.and_then(|rest| rest.split(['&', '[', '=', '<', '>']).next());
            let name = egg.or_else(|| wheel_name(written).map(|(name, _)| name));
            return Ok(unnamed(name.map(safe_name), Vec::new()));
        }
        if let Some((name, version)) = wheel_name(written) {
            let condition = VersionCondition::parse(&format!("=={version}"));
            let conditions = condition.into_iter().collect();
            return Ok(unnamed(Some(safe_name(name)), conditions));
        }
        if written.contains('/') || written.starts_with('.') {
            return Ok(unnamed(None, Vec::new()));
        }
        let Some(found) = NAMED.captures(written) else {
            return refuse(format!(
                "pip raised an exception while parsing '{written}': this is no requirement"
            ));
        };
        let rest = found[2].split(';').next().unwrap_or_default().trim();
        let rest = rest
            .strip_prefix('(')
            .and_then(|it| it.strip_suffix(')'))
            .unwrap_or(rest);
        let mut conditions = Vec::new();
        if !rest.starts_with('@') {
            for text in rest.split(',').filter(|text| !text.trim().is_empty()) {
                let Some(condition) = VersionCondition::parse(text) else {
                    return refuse(bad_conditions(written));
                };
                conditions.push(condition);
            }
        }
        // The conditions are sorted as pip prints them: by their operators.
        conditions.sort_by(|one, two| one.operator.cmp(&two.operator));
        Ok(unnamed(Some(safe_name(&found[1])), conditions))
    }

    /// Returns true if a version fulfils all conditions.
    pub(super) fn accepts(&self, version: &str) -> bool {
        self.conditions.iter().all(|it| it.accepts(version))
    }
}

fn bad_conditions(written: &str) -> String {
    if written.contains('=') && !written.contains("==") {
        return format!(
            "Invalid version specification in package {written}. '=' is not supported, use '==' instead."
        );
    }
    format!("pip raised an exception while parsing '{written}': Invalid requirement: '{written}'")
}

/// Returns the name and the version of a wheel by the name of its file.
fn wheel_name(path: &str) -> Option<(&str, &str)> {
    let file = path.rsplit('/').next()?.strip_suffix(".whl")?;
    let mut parts = file.split('-');
    Some((parts.next()?, parts.next()?))
}

/// Returns a name with a dash for each other sign, as Salt compares names.
fn safe_name(name: &str) -> String {
    let mut safe = String::new();
    for sign in name.chars() {
        if sign.is_ascii_alphanumeric() || sign == '.' {
            safe.push(sign);
        } else if !safe.ends_with('-') {
            safe.push('-');
        }
    }
    safe
}

/// Returns a name in the form in which all its spellings are the same.
pub(super) fn normal_name(name: &str) -> String {
    safe_name(&name.replace('.', "-")).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Option<String>, usize) {
        let requirement = Requirement::parse(text).unwrap();
        (requirement.name, requirement.conditions.len())
    }

    #[test]
    fn names_are_found_in_all_forms() {
        let named = |name: &str, count| (Some(name.to_owned()), count);
        assert_eq!(parsed("demo"), named("demo", 0));
        assert_eq!(parsed("old_name[x,y] >=1, <2"), named("old-name", 2));
        assert_eq!(parsed("demo==1.0; python_version>'3'"), named("demo", 1));
        assert_eq!(parsed("/srv/a_b-1.0-py3-none-any.whl"), named("a-b", 1));
        assert_eq!(parsed("git+https://x.test/y#egg=own"), named("own", 0));
        assert_eq!(parsed("/srv/folder"), (None, 0));
        assert_eq!(normal_name("Old_Name.x"), "old-name-x");
        assert!(Requirement::parse("demo=1.0").is_err());
        assert!(Requirement::parse("--index-url=x").is_err());
    }
}
