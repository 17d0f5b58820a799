//! Ignore rules: drift that people know and accept, so that it raises no alarm.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::finding::{DriftKind, Finding};
use crate::diagnostic::Span;
use crate::name::{EnumWords as _, InstanceName};
use crate::text::Glob;

/// A glob pattern with its text.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: Arc<str>,
    glob: Glob,
}

impl Pattern {
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            glob: Glob::new(text),
        }
    }

    pub fn matches(&self, text: &str) -> bool {
        self.glob.matches(text)
    }

    /// Returns true if the pattern matches no other text than its own.
    pub fn is_exact(&self) -> bool {
        !Glob::is_pattern(&self.text)
    }

    /// Returns the number of characters that are no wildcards, which tells how specific the pattern is.
    pub fn weight(&self) -> usize {
        let literal = |c: &char| !matches!(c, '*' | '?' | '[' | ']');
        self.text.chars().filter(literal).count()
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// The end of an ignore rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The rule counts on this day (UTC) for the last time.
    Day(Date),
    /// The rule ends at this time.
    Time(Timestamp),
}

impl Until {
    /// Parses a day (`2026-12-31`) or a time with a zone (`2026-12-31T18:00Z`).
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        // A time without a zone also parses as a day.
        if text.len() > "2026-12-31".len() {
            return text.parse().ok().map(Self::Time);
        }
        text.parse().ok().map(Self::Day)
    }

    /// Parses an end as [`Self::parse`] does, or a time from now on: `30d` or `4w` in whole days, `12h` or `30m`.
    pub fn parse_after(text: &str, now: Timestamp) -> Option<Self> {
        let text = text.trim();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let number: Option<i64> = digits.parse().ok().filter(|number| *number >= 0);
        let day = now.to_zoned(TimeZone::UTC).date();
        let days = |days: i64| day.checked_add(jiff::Span::new().try_days(days).ok()?).ok();
        let after = |seconds: i64| now.checked_add(SignedDuration::from_secs(seconds)).ok();
        let unit = text.get(digits.len()..).unwrap_or_default();
        match (number, unit) {
            (Some(number), "d") => days(number).map(Self::Day),
            (Some(number), "w") => days(number.checked_mul(7)?).map(Self::Day),
            (Some(number), "h") => after(number.checked_mul(3600)?).map(Self::Time),
            (Some(number), "m") => after(number.checked_mul(60)?).map(Self::Time),
            _ => Self::parse(text),
        }
    }

    /// Returns true if a rule with this end has ended.
    pub fn has_passed(self, now: Timestamp) -> bool {
        match self {
            Self::Day(day) => now.to_zoned(TimeZone::UTC).date() > day,
            Self::Time(time) => now >= time,
        }
    }
}

impl Display for Until {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Day(day) => write!(f, "{day}"),
            Self::Time(time) => write!(f, "{time:.0}"),
        }
    }
}

/// A rule that keeps findings from the alarm. A field that is missing matches everything.
#[derive(Debug, Clone)]
pub struct IgnoreRule {
    pub instance: Option<Pattern>,
    pub attribute: Option<Pattern>,
    pub host: Option<Pattern>,
    pub kind: Option<DriftKind>,
    /// The digest of the cause, or its first digits.
    pub cause: Option<Arc<str>>,
    pub until: Option<Until>,
    pub reason: Arc<str>,
    /// The place of the rule.
    pub span: Span,
}

impl Default for IgnoreRule {
    fn default() -> Self {
        Self {
            instance: None,
            attribute: None,
            host: None,
            kind: None,
            cause: None,
            until: None,
            reason: "".into(),
            span: Span::NONE,
        }
    }
}

impl IgnoreRule {
    /// Returns true if the rule is about a finding, whether or not the rule has ended.
    pub fn matches(&self, finding: &Finding) -> bool {
        let attribute = &finding.subject.attribute;
        let is_attribute = |pattern: &Pattern| pattern.matches(attribute);
        self.covers(finding)
            && self.attribute.as_ref().is_none_or(is_attribute)
            && self.kind.is_none_or(|kind| kind == finding.kind)
            && self
                .cause
                .as_ref()
                .is_none_or(|cause| finding.cause().starts_with(&**cause))
    }

    /// Returns true if the rule is about the instance and the host of a finding.
    pub fn covers(&self, finding: &Finding) -> bool {
        let subject = &finding.subject;
        let instance = subject.instance.as_ref().map(InstanceName::as_str);
        let is_it = |pattern: &Option<Pattern>, text: Option<&str>| {
            pattern
                .as_ref()
                .is_none_or(|pattern| text.is_some_and(|text| pattern.matches(text)))
        };
        is_it(&self.instance, instance) && is_it(&self.host, subject.host.as_deref())
    }

    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until.has_passed(now))
    }
}

/// The rule as people read it: the fields in the form of YAML, and the reason.
impl Display for IgnoreRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let fields = [
            ("instance", self.instance.as_ref().map(ToString::to_string)),
            (
                "attribute",
                self.attribute.as_ref().map(ToString::to_string),
            ),
            ("host", self.host.as_ref().map(ToString::to_string)),
            ("kind", self.kind.map(|kind| kind.as_str().to_owned())),
            ("cause", self.cause.as_deref().map(str::to_owned)),
            ("until", self.until.map(|until| until.to_string())),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                write!(f, "{name}: {value}, ")?;
            }
        }
        write!(f, "reason: {}", self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{Difference, Subject};

    fn finding(instance: &str, attribute: &str) -> Finding {
        let subject = Subject {
            instance: Some(instance.into()),
            host: None,
            attribute: attribute.into(),
        };
        Finding::new(subject, DriftKind::Outside, Difference::default())
    }

    fn rule(instance: &str, attribute: &str) -> IgnoreRule {
        IgnoreRule {
            instance: Some(Pattern::new(instance)),
            attribute: Some(Pattern::new(attribute)),
            ..IgnoreRule::default()
        }
    }

    #[test]
    fn a_rule_matches_by_instance_and_attribute() {
        assert!(rule("web*", "status").matches(&finding("web1", "status")));
        assert!(!rule("web*", "status").matches(&finding("db", "status")));
        assert!(!rule("web*", "status").matches(&finding("web1", "url")));
        assert!(rule("web*", "status").covers(&finding("web1", "url")));
    }

    #[test]
    fn a_rule_about_a_host_does_not_match_a_finding_without_one() {
        let rule = IgnoreRule {
            host: Some(Pattern::new("*")),
            ..IgnoreRule::default()
        };
        assert!(!rule.matches(&finding("web1", "status")));
        let mut elsewhere = finding("web1", "status");
        elsewhere.subject.host = Some("web1.example".into());
        assert!(rule.matches(&elsewhere));
    }

    #[test]
    fn a_rule_matches_the_first_digits_of_a_cause() {
        let finding = finding("web1", "status");
        let of = |cause: &str| IgnoreRule {
            cause: Some(cause.into()),
            ..IgnoreRule::default()
        };
        assert!(of(&finding.cause()).matches(&finding));
        assert!(of(&finding.cause()[..6]).matches(&finding));
        assert!(!of("zzzzzz").matches(&finding));
    }

    #[test]
    fn a_rule_of_a_kind_matches_no_other() {
        let rule = IgnoreRule {
            kind: Some(DriftKind::Pending),
            ..IgnoreRule::default()
        };
        assert!(!rule.matches(&finding("web1", "status")));
    }

    #[test]
    fn a_day_counts_until_its_end_in_utc() {
        let until = Until::parse("2026-12-31").unwrap();
        assert!(!until.has_passed("2026-12-31T23:59:59Z".parse().unwrap()));
        assert!(until.has_passed("2027-01-01T00:00:00Z".parse().unwrap()));
        let until = Until::parse("2026-12-31T18:00:00+01:00").unwrap();
        assert!(!until.has_passed("2026-12-31T16:59:59Z".parse().unwrap()));
        assert!(until.has_passed("2026-12-31T17:00:00Z".parse().unwrap()));
        for text in ["", "soon", "2026-13-01", "30d", "2026-12-31T18:00:00"] {
            assert_eq!(Until::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_end_can_be_counted_from_now() {
        let now = "2026-06-15T23:00:00Z".parse().unwrap();
        let cases = [
            ("30d", "2026-07-15"),
            ("2w", "2026-06-29"),
            ("12h", "2026-06-16T11:00:00Z"),
            ("30m", "2026-06-15T23:30:00Z"),
            ("2026-12-31", "2026-12-31"),
        ];
        for (text, expected) in cases {
            let until = Until::parse_after(text, now).unwrap();
            assert_eq!(until.to_string(), expected, "{text}");
        }
        for text in ["", "30", "d", "-1d", "99999999999999999d", "1y", "30 d x"] {
            assert_eq!(Until::parse_after(text, now), None, "{text}");
        }
    }

    #[test]
    fn a_rule_reads_as_it_is_written() {
        let mut rule = rule("web*", "status");
        rule.until = Until::parse("2026-12-31");
        rule.reason = "known".into();
        let text = "instance: web*, attribute: status, until: 2026-12-31, reason: known";
        assert_eq!(rule.to_string(), text);
    }
}
