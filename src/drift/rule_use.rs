//! Applies ignore rules to an answer, and reports the rules that do nothing any more.

use std::sync::Arc;

use super::answer::DriftAnswer;
use super::finding::{AppliedRule, DriftKind};
use super::rules::IgnoreRule;
use crate::diagnostic::{Diagnostic, Diagnostics};

/// Marks the findings that a rule ignores. Returns a problem for each rule that has ended or that matches nothing.
///
/// A look at a part of the ensemble (`is_whole` is false) does not see everything, so no rule counts as unused.
/// The same goes for a rule about an instance that could not be looked at.
pub fn apply_rules(rules: &[IgnoreRule], answer: &mut DriftAnswer, is_whole: bool) -> Diagnostics {
    let now = answer.at;
    let (ended, valid): (Vec<_>, Vec<_>) = rules.iter().partition(|rule| rule.has_ended(now));
    for finding in &mut answer.findings {
        let rule = valid.iter().find(|rule| rule.matches(finding));
        finding.ignored_by = rule.map(|rule| rule.to_string().into());
        finding.rule = rule.map(|rule| AppliedRule {
            until: rule.until.map(|until| until.to_string().into()),
            reason: Arc::clone(&rule.reason),
        });
    }
    let ended = ended.into_iter().map(ended_problem);
    let is_unused = |rule: &&IgnoreRule| {
        let mut findings = answer.findings.iter();
        !findings.any(|finding| {
            let is_unseen = finding.kind == DriftKind::CannotTell && rule.covers(finding);
            is_unseen || rule.matches(finding)
        })
    };
    let judges = is_whole && answer.problem.is_none();
    let unused = valid.into_iter().filter(|_| judges).filter(is_unused);
    ended.chain(unused.map(unused_problem)).collect()
}

fn ended_problem(rule: &IgnoreRule) -> Diagnostic {
    let until = rule
        .until
        .map(|until| until.to_string())
        .unwrap_or_default();
    let message = format!("the ignore rule `{rule}` ended with {until} and ignores nothing");
    let help = "remove the rule, or give it a later `until`";
    Diagnostic::error(message).label(rule.span, "").help(help)
}

fn unused_problem(rule: &IgnoreRule) -> Diagnostic {
    let message = format!("the ignore rule `{rule}` matches nothing");
    let help = "remove the rule, or correct what it is about; `unfurl drift --all` shows what a rule can match";
    Diagnostic::error(message).label(rule.span, "").help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{Difference, Finding, Pattern, Subject, Until, Verdict};

    fn finding(instance: &str, kind: DriftKind) -> Finding {
        let subject = Subject {
            instance: Some(instance.into()),
            host: None,
            attribute: "status".into(),
        };
        Finding::new(subject, kind, Difference::default())
    }

    fn answer(findings: Vec<Finding>) -> DriftAnswer {
        let at = "2026-06-15T12:00:00Z".parse().unwrap();
        DriftAnswer {
            looked_at: findings.len(),
            total: findings.len(),
            findings,
            ..DriftAnswer::empty("web".into(), None, at)
        }
    }

    fn rule(instance: &str) -> IgnoreRule {
        IgnoreRule {
            instance: Some(Pattern::new(instance)),
            reason: "known".into(),
            ..IgnoreRule::default()
        }
    }

    fn messages(problems: &Diagnostics) -> Vec<String> {
        problems.iter().map(|it| it.message.clone()).collect()
    }

    #[test]
    fn an_ignored_finding_raises_no_alarm() {
        let mut answer = answer(vec![finding("a", DriftKind::Outside)]);
        assert_eq!(answer.verdict(), Verdict::Drifted);
        let problems = apply_rules(&[rule("a")], &mut answer, true);
        assert!(problems.is_empty());
        assert_eq!(answer.verdict(), Verdict::Clean);
        let ignored_by = answer.findings[0].ignored_by.as_deref();
        assert_eq!(ignored_by, Some("instance: a, reason: known"));
    }

    #[test]
    fn a_rule_that_has_ended_ignores_nothing_and_is_reported() {
        let mut ended = rule("a");
        ended.until = Until::parse("2026-06-14");
        let mut answer = answer(vec![finding("a", DriftKind::Outside)]);
        let problems = apply_rules(&[ended], &mut answer, false);
        let expected = "the ignore rule `instance: a, until: 2026-06-14, reason: known` ended with 2026-06-14 and \
                        ignores nothing";
        assert_eq!(messages(&problems), [expected]);
        assert_eq!(answer.verdict(), Verdict::Drifted);
    }

    #[test]
    fn a_rule_that_matches_nothing_is_reported_by_a_whole_look_alone() {
        let mut answer = answer(vec![finding("a", DriftKind::Outside)]);
        let rules = [rule("b")];
        let expected = "the ignore rule `instance: b, reason: known` matches nothing";
        assert_eq!(
            messages(&apply_rules(&rules, &mut answer, true)),
            [expected]
        );
        assert!(apply_rules(&rules, &mut answer, false).is_empty());
    }

    #[test]
    fn a_rule_about_what_nobody_could_see_is_not_unused() {
        let mut answer = answer(vec![finding("b", DriftKind::CannotTell)]);
        let mut rule = rule("b");
        rule.attribute = Some(Pattern::new("url"));
        assert!(apply_rules(&[rule], &mut answer, true).is_empty());
        assert_eq!(answer.findings[0].ignored_by, None);
        assert_eq!(answer.verdict(), Verdict::CannotTell);
    }

    #[test]
    fn a_problem_of_a_rule_cannot_be_clean() {
        let mut answer = answer(Vec::new());
        answer.rule_problems.push("unfurl.yaml:1:1: …".into());
        assert_eq!(answer.verdict(), Verdict::CannotTell);
        answer.findings.push(finding("a", DriftKind::Outside));
        assert_eq!(answer.verdict(), Verdict::Drifted);
    }
}
