//! Package rules: they replace packages by others, and set where a package is and which revision is used.

use super::request::{CURRENT, PackageRequest};
use super::source_url::SourceUrl;
use crate::text::without_logins;

/// A rule for a package, or for all packages whose ids start with the text before a final `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRule {
    pattern: String,
    /// The id that replaces the one of the package.
    package: Option<String>,
    /// The address that replaces the one of the package.
    url: Option<SourceUrl>,
    revision: Option<String>,
}

/// The reason why a package rule is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("the package rule `{0}` must begin with a package id, which has no `:` and no `#`")]
    NoId(String),
    #[error("the package rule `{0}` sets neither a package, nor a URL, nor a revision")]
    Empty(String),
    #[error("`{0}` in the package rules has no replacement: rules are pairs of words")]
    Unpaired(String),
}

impl PackageRule {
    /// Creates a rule. `replacement` is a package id, a URL, or `#REVISION`; `revision` overrides its revision.
    pub fn new(
        pattern: &str,
        replacement: &str,
        revision: Option<&str>,
    ) -> Result<Self, RuleError> {
        if pattern.contains([':', '#']) || pattern.is_empty() {
            return Err(RuleError::NoId(without_logins(pattern)));
        }
        let mut rule = Self {
            pattern: pattern.to_owned(),
            package: None,
            url: None,
            revision: revision.map(str::to_owned),
        };
        let source = SourceUrl::parse(replacement);
        match PackageRequest::of(replacement, None) {
            Some(request) if !source.address.is_empty() => {
                let stated = source.revision.clone();
                rule.revision = rule.revision.or(stated);
                rule.url = request.url;
                rule.package = Some(request.id);
            }
            _ if source.address.is_empty() => rule.revision = rule.revision.or(source.revision),
            _ => {
                rule.revision = rule.revision.or_else(|| source.revision.clone());
                rule.url = Some(SourceUrl {
                    revision: None,
                    ..source
                });
            }
        }
        if rule.url.is_none() && rule.package.is_none() && rule.revision.is_none() {
            return Err(RuleError::Empty(without_logins(pattern)));
        }
        Ok(rule)
    }

    fn matches(&self, id: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(start) => id.starts_with(start),
            None => id == self.pattern,
        }
    }

    /// Replaces `*` in a text by the part of the id that the rule's `*` stands for.
    fn expand(&self, text: &str, id: &str) -> String {
        let start = self.pattern.trim_end_matches('*');
        text.replace('*', id.strip_prefix(start).unwrap_or_default())
    }

    /// Applies the rule. Returns whether the id has changed.
    fn apply(&self, request: &mut PackageRequest) -> bool {
        let old = request.id.clone();
        let is_general = self.pattern.ends_with('*');
        if let Some(url) = &self.url {
            request.url = Some(SourceUrl {
                address: self.expand(&url.address, &old),
                revision: None,
                path: self.expand(&url.path, &old),
            });
        } else if let Some(package) = &self.package {
            request.url = None;
            request.id = self.expand(package, &old);
        }
        if !is_general && let Some(package) = &self.package {
            request.id.clone_from(package);
        }
        // A general rule that sets the revision alone gives way to a request for a version.
        let yields = is_general && self.url.is_none() && request.revision.is_some();
        match self.revision.as_deref() {
            Some(CURRENT) => {
                request.is_current = true;
                request.revision = None;
            }
            Some(revision) if !yields => request.revision = Some(revision.to_owned()),
            _ => {}
        }
        request.id != old
    }
}

impl std::fmt::Display for PackageRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.pattern)?;
        let revision = self.revision.as_deref().unwrap_or_default();
        match (&self.url, &self.package) {
            (Some(url), _) => {
                let revision = self.revision.clone();
                write!(
                    f,
                    "{}",
                    SourceUrl {
                        revision,
                        ..url.clone()
                    }
                )
            }
            (None, Some(package)) if revision.is_empty() => f.write_str(package),
            (None, Some(package)) => write!(f, "{package}#{revision}"),
            (None, None) => write!(f, "#{revision}"),
        }
    }
}

/// Reads rules from pairs of words, as `UNFURL_PACKAGE_RULES` has them.
pub fn parse_rules(text: &str) -> Result<Vec<PackageRule>, RuleError> {
    let mut words = text.split_whitespace();
    let mut rules = Vec::new();
    while let Some(pattern) = words.next() {
        let replacement = words
            .next()
            .ok_or_else(|| RuleError::Unpaired(pattern.to_owned()))?;
        rules.push(PackageRule::new(pattern, replacement, None)?);
    }
    Ok(rules)
}

/// Applies all rules that match. If one replaces the package, the rules start over for the new one; no package is
/// replaced twice.
pub fn apply_rules(rules: &[PackageRule], request: &mut PackageRequest) {
    let mut replaced: Vec<String> = Vec::new();
    let mut place = 0;
    while let Some(rule) = rules.get(place) {
        place += 1;
        if !rule.matches(&request.id) {
            continue;
        }
        let old = request.id.clone();
        if rule.apply(request) && !replaced.contains(&old) {
            replaced.push(old);
            place = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn applied(rules: &str, url: &str) -> String {
        let mut request = PackageRequest::of(url, None).unwrap();
        apply_rules(&parse_rules(rules).unwrap(), &mut request);
        format!("{request} at {}", request.source())
    }

    #[test]
    fn rules_replace_packages_addresses_and_revisions() {
        let url = "https://h/o/types.git#v1.0.0";
        for (rules, expected) in [
            (
                "h/o/types https://h/me/repo.git#main",
                "h/me/repo#main at https://h/me/repo.git",
            ),
            (
                "h/o/types x.org/fork",
                "x.org/fork#v1.0.0 at https://x.org/fork.git",
            ),
            (
                "h/o/* https://stage.h/o/*.git",
                "h/o/types#v1.0.0 at https://stage.h/o/types.git",
            ),
            (
                "h/o/* g.org/p/*",
                "g.org/p/types#v1.0.0 at https://g.org/p/types.git",
            ),
            ("h/* #main", "h/o/types#v1.0.0 at https://h/o/types.git"),
            (
                "h/o/types #v1.3.0",
                "h/o/types#v1.3.0 at https://h/o/types.git",
            ),
            ("other #main", "h/o/types#v1.0.0 at https://h/o/types.git"),
            ("h/o/types a.b/c a.b/c #v2", "a.b/c#v2 at https://a.b/c.git"),
            (
                "h/o/types a.b/c a.b/c h/o/types",
                "h/o/types#v1.0.0 at https://h/o/types.git",
            ),
        ] {
            assert_eq!(applied(rules, url), expected, "{rules}");
        }
        assert_eq!(
            applied("h/* #main", "h/o/types"),
            "h/o/types#main at https://h/o/types.git"
        );
    }

    #[test]
    fn a_rule_may_name_a_folder_of_this_machine() {
        let request = applied("h/o/types file:/srv/types", "h/o/types");
        assert_eq!(request, "h/o/types at file:/srv/types");
    }

    #[test]
    fn bad_rules_are_refused_and_rules_can_be_written_again() {
        assert!(parse_rules("a.b").is_err());
        assert!(parse_rules("https://h/r a.b").is_err());
        let text = "h/o/* #main a.b/c https://h/r.git#v1:sub a.b/d x.y/z";
        let rules = parse_rules(text).unwrap();
        let written: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(written.join(" "), text);
        let secret = PackageRule::new("a.b/c", "https://u:pw@h/r.git", None).unwrap();
        assert!(!secret.to_string().contains("pw"));
    }

    proptest! {
        #[test]
        fn rules_always_come_to_an_end(words in prop::collection::vec("[ab]\\.[ab](/[ab*])?(#v1)?", 0..12)) {
            let pairs = words.chunks(2).filter(|pair| pair.len() == 2);
            let rules: Vec<_> = pairs.filter_map(|pair| PackageRule::new(&pair[0], &pair[1], None).ok()).collect();
            let mut request = PackageRequest::of("a.a/b", None).unwrap();
            apply_rules(&rules, &mut request);
        }
    }
}
