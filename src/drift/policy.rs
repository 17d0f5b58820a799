//! Policies: the reaction of a scheduled look to drift, by instance, template or environment.

use super::keys::DRIFT_POLICY_KEYS;
use super::on_drift::OnDrift;
use super::rule_reader::{items, known_keys, text, word};
use super::rules::Pattern;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::name::EnumWords as _;
use crate::text::did_you_mean;
use crate::yaml::Node;

/// The policy for the instances that patterns name.
#[derive(Debug, Clone)]
struct Policy {
    instance: Option<Pattern>,
    template: Option<Pattern>,
    on_drift: OnDrift,
}

/// The policies of an environment.
#[derive(Debug, Clone, Default)]
pub struct DriftPolicies {
    /// The policy of the environment as a whole.
    default: Option<OnDrift>,
    policies: Vec<Policy>,
}

impl DriftPolicies {
    /// Reads `on_drift` and `policies` of a section `drift`. A policy with a mistake has no effect and is reported.
    pub fn read(section: &Node, problems: &mut Diagnostics) -> Self {
        let mut read = Self::default();
        if let Some(map) = section.as_map() {
            match word(map, "on_drift") {
                Ok(default) => read.default = default,
                Err(problem) => problems.push(problem),
            }
        }
        for item in items(section, "policies", problems) {
            match Policy::read(item) {
                Ok(policy) => read.policies.push(policy),
                Err(problem) => problems.push(problem),
            }
        }
        read
    }

    /// Returns what to do about the drift of an instance. `own` is what its node template says.
    ///
    /// The most specific word counts: a policy that names the instance without wildcards, then the template's own word,
    /// then the policy with the longest patterns (the last one among equals), then the environment.
    pub fn of(&self, instance: &str, template: &str, own: Option<OnDrift>) -> OnDrift {
        let applying = self.policies.iter();
        let applying = applying.filter(|policy| policy.matches(instance, template));
        let (exact, others): (Vec<_>, Vec<_>) = applying.partition(|policy| policy.is_exact());
        let exact = exact.last().map(|policy| policy.on_drift);
        let longest = others.iter().max_by_key(|policy| policy.weight());
        let longest = longest.map(|policy| policy.on_drift);
        let all = [exact, own, longest, self.default];
        all.into_iter().flatten().next().unwrap_or_default()
    }
}

impl Policy {
    fn read(node: &Node) -> Result<Self, Diagnostic> {
        let Some(map) = node.as_map() else {
            return Err(node.type_mismatch("a policy of `drift`", "a map"));
        };
        known_keys(map, &DRIFT_POLICY_KEYS, "a policy of `drift`")?;
        let problem = |message: &str, help: &str| {
            let problem = Diagnostic::error(message).label(node.span(), "");
            problem.help(help)
        };
        let Some(on_drift) = word(map, "on_drift")? else {
            let message = "a policy of `drift` has no `on_drift`";
            return Err(problem(
                message,
                "add `on_drift: report`, `ask` or `repair`",
            ));
        };
        let policy = Self {
            instance: text(map, "instance")?.map(Pattern::new),
            template: text(map, "template")?.map(Pattern::new),
            on_drift,
        };
        if policy.instance.is_none() && policy.template.is_none() {
            let message = "a policy of `drift` does not say which instances it is about";
            let help = "add `instance` or `template`, or set `on_drift` of `drift` for all";
            return Err(problem(message, help));
        }
        Ok(policy)
    }

    fn matches(&self, instance: &str, template: &str) -> bool {
        let is_it = |pattern: &Option<Pattern>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| pattern.matches(text))
        };
        is_it(&self.instance, instance) && is_it(&self.template, template)
    }

    fn is_exact(&self) -> bool {
        self.instance.as_ref().is_some_and(Pattern::is_exact)
    }

    fn weight(&self) -> usize {
        let patterns = [&self.instance, &self.template];
        patterns.into_iter().flatten().map(Pattern::weight).sum()
    }
}

/// Reads the word `on_drift` of a node template's metadata.
///
/// # Errors
///
/// Returns a message and a hint for a text that is no such word.
pub fn own_policy(word: &str) -> Result<OnDrift, (String, String)> {
    OnDrift::parse(word).ok_or_else(|| {
        let known = || OnDrift::WORDS.iter().map(|(_, word, _)| *word);
        let help = did_you_mean(word, known());
        let message = format!("`{word}` is no value of `on_drift`");
        (
            message,
            help.unwrap_or_else(|| "use one of `report`, `ask`, `repair`".to_owned()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    fn read(text: &str) -> (DriftPolicies, Vec<String>) {
        let mut sources = Sources::default();
        let id = sources.add("e.yaml", text, None);
        let node = parse(&sources, id, &Limits::default()).unwrap();
        let mut problems = Diagnostics::default();
        let policies = DriftPolicies::read(&node, &mut problems);
        let problems = problems.iter().map(|problem| {
            let place = sources.position(problem.span().unwrap()).unwrap();
            let help = problem.help.as_deref().unwrap_or_default();
            format!("{}: {} ({help})", place.column, problem.message)
        });
        (policies, problems.collect())
    }

    #[test]
    fn the_most_specific_policy_counts() {
        let text = "{on_drift: ask, policies: [{instance: 'web*', on_drift: report}, {instance: web1, on_drift: \
                    repair}, {instance: 'web1*', on_drift: ask}, {template: db, on_drift: repair}]}";
        let (policies, problems) = read(text);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(policies.of("web1", "web", None), OnDrift::Repair);
        assert_eq!(
            policies.of("web1", "web", Some(OnDrift::Report)),
            OnDrift::Repair
        );
        assert_eq!(policies.of("web2", "web", None), OnDrift::Report);
        assert_eq!(
            policies.of("web2", "web", Some(OnDrift::Repair)),
            OnDrift::Repair
        );
        assert_eq!(policies.of("web11", "web", None), OnDrift::Ask);
        assert_eq!(policies.of("d", "db", None), OnDrift::Repair);
        assert_eq!(policies.of("x", "x", None), OnDrift::Ask);
        assert_eq!(DriftPolicies::default().of("x", "x", None), OnDrift::Report);
    }

    #[test]
    fn a_wrong_word_is_reported_at_its_place() {
        let cases = [
            (
                "{on_drift: repiar}",
                "12: `repiar` is no value of `on_drift` (did you mean `repair`?)",
            ),
            (
                "{on_drift: fix}",
                "12: `fix` is no value of `on_drift` (use one of `report`, `ask`, `repair`)",
            ),
            (
                "{policies: [{on_drift: ask}]}",
                "13: a policy of `drift` does not say which",
            ),
            (
                "{policies: [{instance: a}]}",
                "13: a policy of `drift` has no `on_drift`",
            ),
            (
                "{policies: [{instances: a, on_drift: ask}]}",
                "14: a policy of `drift` has no key `instances` (did you mean `instance`?)",
            ),
            ("{policies: [a]}", "13: "),
        ];
        for (text, expected) in cases {
            let (_, problems) = read(text);
            assert_eq!(problems.len(), 1, "{text} {problems:?}");
            assert!(problems[0].starts_with(expected), "{text} {problems:?}");
        }
    }

    #[test]
    fn the_word_of_a_template_is_checked_too() {
        assert_eq!(own_policy("ask"), Ok(OnDrift::Ask));
        let (message, help) = own_policy("asks").unwrap_err();
        assert_eq!(message, "`asks` is no value of `on_drift`");
        assert_eq!(help, "did you mean `ask`?");
    }
}
