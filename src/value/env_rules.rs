//! Rules that derive one environment from another: set, copy, remove or prepend variables. Functions such as
//! `to_env` and the start of processes use them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use indexmap::IndexMap;
use regex::{Captures, Regex};

use super::{REDACTED, Value};
use crate::text::Glob;

/// The variables that a rule removes only by their exact names, because most programs and Unfurl itself need
/// them.
const REQUIRED: &[&str] = &[
    "ASDF_DATA_DIR",
    "CURL_CA_BUNDLE",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "NO_PROXY",
    "PATH",
    "PYTHONPATH",
    "PY_COLORS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "TMPDIR",
    "UNFURL_APPROVE",
    "UNFURL_CHECK_UPSTREAM",
    "UNFURL_CLOUD_SERVER",
    "UNFURL_EXPORT_LOCALNAMES",
    "UNFURL_GLOBAL_NAMESPACE_PACKAGES",
    "UNFURL_HOME",
    "UNFURL_LOGFILE",
    "UNFURL_LOGGING",
    "UNFURL_LOG_FORMAT",
    "UNFURL_LOG_TRUNCATE",
    "UNFURL_MOCK_DEPLOY",
    "UNFURL_NORUNTIME",
    "UNFURL_OVERWRITE_POLICY",
    "UNFURL_PACKAGE_RULES",
    "UNFURL_RAISE_LOGGING_EXCEPTIONS",
    "UNFURL_RUNTIME",
    "UNFURL_SEARCH_ROOT",
    "UNFURL_SKIP_SAVE",
    "UNFURL_SKIP_UPSTREAM_CHECK",
    "UNFURL_SKIP_VAULT_DECRYPT",
    "UNFURL_TMPDIR",
    "UNFURL_VALIDATION_MODE",
    "VIRTUAL_ENV",
];

/// The options for the application of rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct EnvRuleOptions<'a> {
    /// Whether the result contains only the variables that rules add, instead of the whole source.
    pub add_only: bool,
    /// The variables for `${NAME}` that the result so far does not contain. None leaves references
    /// unchanged.
    pub substitute: Option<&'a BTreeMap<String, String>>,
}

/// The environment that results from rules. The debug form redacts sensitive variables.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FilteredEnv {
    /// The variables: those of the source first, then others in the order of the rules.
    pub variables: IndexMap<String, String>,
    /// The names of the variables with sensitive values.
    pub sensitive: BTreeSet<String>,
}

impl std::fmt::Debug for FilteredEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.variables.iter().map(|(name, value)| {
            let secret = self.sensitive.contains(name);
            (name, if secret { REDACTED } else { value })
        });
        f.debug_map().entries(shown).finish()
    }
}

impl FilteredEnv {
    fn set(&mut self, name: &str, value: &str, sensitive: bool) {
        self.variables.insert(name.to_owned(), value.to_owned());
        if sensitive {
            self.sensitive.insert(name.to_owned());
        } else {
            self.sensitive.remove(name);
        }
    }

    fn apply_set_rule(&mut self, name: &str, value: &Value, options: EnvRuleOptions<'_>) {
        if !value.is_null() {
            let text = self.text_of(value, options);
            self.set(name, &text, value.has_sensitive());
        }
    }

    /// Converts a value to the text of a variable: true becomes `true`, false becomes empty.
    fn text_of(&self, value: &Value, options: EnvRuleOptions<'_>) -> String {
        let text = match value.reveal() {
            Value::Bool(true) => "true".to_owned(),
            Value::Bool(false) => String::new(),
            other => other.revealed().to_string(),
        };
        let Some(others) = options.substitute else {
            return text;
        };
        let lookup = |name: &str| {
            self.variables
                .get(name)
                .or_else(|| others.get(name))
                .cloned()
        };
        substitute_variables(&text, lookup)
    }
}

/// Applies rules to an environment, in their order.
///
/// `NAME: v` sets, `+GLOB: default` copies from the source, `-GLOB` removes, and `^NAME: v` prepends `v:`. A
/// `!` after the sign negates the pattern. A null value sets nothing.
pub fn filter_env<'r>(
    rules: impl IntoIterator<Item = (&'r str, &'r Value)>,
    source: &BTreeMap<String, String>,
    options: EnvRuleOptions<'_>,
) -> FilteredEnv {
    let mut result = FilteredEnv::default();
    if !options.add_only {
        result.variables = source.clone().into_iter().collect();
    }
    for (rule, value) in rules {
        let sign = rule.chars().next().filter(|sign| "+-^".contains(*sign));
        let Some(sign) = sign else {
            result.apply_set_rule(rule, value, options);
            continue;
        };
        let pattern = &rule[1..];
        let (pattern, negated) = match pattern.strip_prefix('!') {
            Some(pattern) => (pattern, true),
            None => (pattern, false),
        };
        let glob = Glob::new(pattern);
        let fits = |name: &str| glob.matches(name) != negated;
        if sign == '-' {
            let exactly = REQUIRED.contains(&pattern);
            result
                .variables
                .retain(|name, _| !fits(name) || (REQUIRED.contains(&name.as_str()) && !exactly));
            continue;
        }
        let prefix = (sign == '^' && value.is_truthy()).then(|| result.text_of(value, options));
        let prefix = prefix.filter(|prefix| !prefix.is_empty());
        let mut found = false;
        for (name, old) in source.iter().filter(|(name, _)| fits(name)) {
            found = true;
            match &prefix {
                Some(prefix) => {
                    let sensitive = value.has_sensitive();
                    result.set(name, &format!("{prefix}:{old}"), sensitive);
                }
                None => result.set(name, old, false),
            }
        }
        if !found {
            result.apply_set_rule(pattern, value, options);
        }
    }
    result
        .sensitive
        .retain(|name| result.variables.contains_key(name));
    result
}

/// Replaces `${NAME}`, `${A|B}` (the first variable that is set) and `${NAME:default}`. Without a value and a default,
/// nothing stands in place of the reference.
///
/// A backslash before `${` prevents the replacement and is removed.
fn substitute_variables(text: &str, lookup: impl Fn(&str) -> Option<String>) -> String {
    replace_references(text, lookup, |_| String::new())
}

/// Does the same, but leaves references to variables that have neither a value nor a default.
pub fn replace_variables(text: &str, lookup: impl Fn(&str) -> Option<String>) -> String {
    replace_references(text, lookup, str::to_owned)
}

fn replace_references(
    text: &str,
    lookup: impl Fn(&str) -> Option<String>,
    unset: impl Fn(&str) -> String,
) -> String {
    static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(\\+)?\$\{([\w|]+)(:.+?)?\}").expect("the pattern is a regular expression")
    });
    let replace = |found: &Captures<'_>| {
        let whole = &found[0];
        if let Some(backslashes) = found.get(1) {
            let dropped = (backslashes.len() - 1).max(1);
            return whole[dropped..].to_owned();
        }
        let value = found[2].split('|').find_map(&lookup);
        let default = || Some(found.get(3)?.as_str()[1..].to_owned());
        value.or_else(default).unwrap_or_else(|| unset(whole))
    };
    VARIABLE.replace_all(text, replace).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(variables: &[(&str, &str)]) -> BTreeMap<String, String> {
        variables
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    fn filtered(
        rules: &[(&str, Value)],
        source: &[(&str, &str)],
        options: EnvRuleOptions<'_>,
    ) -> FilteredEnv {
        let rules = rules.iter().map(|(rule, value)| (*rule, value));
        filter_env(rules, &map(source), options)
    }

    fn apply(rules: &[(&str, Value)], source: &[(&str, &str)], add_only: bool) -> String {
        let options = EnvRuleOptions {
            add_only,
            substitute: None,
        };
        let result = filtered(rules, source, options);
        let variables = result.variables.iter().map(|(k, v)| format!("{k}={v}"));
        let mut variables: Vec<String> = variables.collect();
        variables.sort_unstable();
        variables.join(" ")
    }

    #[test]
    fn values_become_text_and_null_sets_nothing() {
        let rules = [
            ("FOO", Value::from("bar")),
            ("T", true.into()),
            ("F", false.into()),
            ("N", 5.into()),
            ("X", 1.5.into()),
            ("NULL", Value::Null),
            ("S", "x-${FOO}-${MISSING:dflt}".into()),
        ];
        assert_eq!(
            apply(&rules, &[], false),
            "F= FOO=bar N=5 S=x-${FOO}-${MISSING:dflt} T=true X=1.5"
        );
    }

    #[test]
    fn removing_everything_keeps_what_is_required_unless_named() {
        let source = [("PATH", "/bin"), ("HOME", "/root"), ("LANG", "C")];
        assert_eq!(
            apply(&[("-*", Value::Null)], &source, false),
            "LANG=C PATH=/bin"
        );
        assert_eq!(
            apply(&[("-PATH", Value::Null)], &source, false),
            "HOME=/root LANG=C"
        );
        assert_eq!(
            apply(&[("-!H*", Value::Null)], &source, false),
            "HOME=/root LANG=C PATH=/bin"
        );
    }

    #[test]
    fn copies_come_from_the_source_with_a_default() {
        let source = [("A1", "x"), ("A2", "y"), ("B", "z")];
        let rules = [
            ("+A*", Value::Null),
            ("+C", "dflt".into()),
            ("+D", Value::Null),
        ];
        assert_eq!(apply(&rules, &source, true), "A1=x A2=y C=dflt");
        assert_eq!(apply(&[("+!A*", Value::Null)], &source, true), "B=z");
    }

    #[test]
    fn prepending_puts_a_value_before_the_sources() {
        let rules = [("^PATH", "/opt/bin".into()), ("^NEW", "/x".into())];
        assert_eq!(
            apply(&rules, &[("PATH", "/bin")], false),
            "NEW=/x PATH=/opt/bin:/bin"
        );
    }

    #[test]
    fn what_is_prepended_may_hold_references_and_nothing_is_no_prefix() {
        let rules = [
            ("^PATH", Value::from("${HOME}/bin")),
            ("^LANG", Value::from(0)),
            ("^HOME", Value::from("${NONE}")),
        ];
        let source = [("HOME", "/me"), ("LANG", "C"), ("PATH", "/bin")];
        let others = map(&source);
        let options = EnvRuleOptions {
            add_only: true,
            substitute: Some(&others),
        };
        let result = filtered(&rules, &source, options);
        let variables: Vec<_> = result.variables.into_iter().collect();
        let expected = [("PATH", "/me/bin:/bin"), ("LANG", "C"), ("HOME", "/me")];
        assert_eq!(
            variables,
            expected.map(|(k, v)| (k.to_owned(), v.to_owned()))
        );
        let kept = apply(&[("^PATH", "${HOME}".into())], &source[2..], false);
        assert_eq!(kept, "PATH=${HOME}:/bin");
    }

    #[test]
    fn an_unclosed_bracket_in_a_rule_stands_for_itself() {
        let source = [("A[", "x"), ("A1", "y"), ("B", "z")];
        assert_eq!(apply(&[("+A[", Value::Null)], &source, true), "A[=x");
        assert_eq!(apply(&[("+[!A]", Value::Null)], &source, true), "B=z");
    }

    #[test]
    fn every_variable_that_is_required_survives() {
        let source: Vec<_> = REQUIRED.iter().map(|name| (*name, "x")).collect();
        let result = filtered(&[("-*", Value::Null)], &source, EnvRuleOptions::default());
        assert_eq!(result.variables.len(), 37);
    }

    #[test]
    fn order_counts() {
        let rules = [("-*", Value::Null), ("+B", Value::Null), ("A", 1.into())];
        assert_eq!(apply(&rules, &[("B", "b"), ("C", "c")], false), "A=1 B=b");
    }

    #[test]
    fn substitutions_see_the_result_so_far() {
        let rules = [("A", Value::from("1")), ("B", "${A}${Z|Y}${N:none}".into())];
        let others = map(&[("A", "other"), ("Y", "y")]);
        let options = EnvRuleOptions {
            add_only: true,
            substitute: Some(&others),
        };
        let result = filtered(&rules, &[], options);
        assert_eq!(result.variables["B"], "1ynone");
    }

    #[test]
    fn a_backslash_keeps_a_reference() {
        let lookup = |_: &str| Some("v".to_owned());
        assert_eq!(substitute_variables(r"a\${X}b${X}", lookup), "a${X}bv");
        assert_eq!(substitute_variables(r"\\\${X}", lookup), r"\${X}");
        assert_eq!(substitute_variables("${}${ X}$X", lookup), "${}${ X}$X");
    }

    #[test]
    fn a_sensitive_value_is_marked_and_not_shown() {
        let secret = Value::str("hush").sensitive();
        let rules = [
            ("A", secret.clone()),
            ("^PATH", secret.clone()),
            ("B", secret),
            ("-B", Value::Null),
        ];
        let result = filtered(&rules, &[("PATH", "x")], EnvRuleOptions::default());
        assert_eq!(result.variables["A"], "hush");
        assert!(result.sensitive.iter().eq(["A", "PATH"]));
        assert!(!format!("{result:?}").contains("hush"));
    }
}
