//! The environment variables of a command.
//!
//! Each value is marked as public or secret, and keeps this mark until the command runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Formatter};

use serde::{Deserialize, Serialize, Serializer};

use crate::value::{EnvRuleOptions, REDACTED, Secrets, Value, filter_env};

/// The variables of a command in order; of variables with the same name, the last one wins.
///
/// [`Debug`] and [`Serialize`] show no secret values.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<(String, String)>")]
pub struct Variables {
    all: Vec<Variable>,
    hidden: Secrets,
}

/// A variable with its secrecy mark.
#[derive(Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    value: String,
    secret: bool,
}

impl Variable {
    fn shown_value(&self) -> (&str, &str) {
        let value = if self.secret { REDACTED } else { &self.value };
        (&self.name, value)
    }
}

impl Variables {
    /// Returns the variables that rules make of others, sorted by name.
    ///
    /// A variable is secret if its rule is, or if it was secret before.
    pub fn from_rules(rules: &[(String, Value)], base: &Self, options: EnvRuleOptions<'_>) -> Self {
        let named = rules.iter().map(|(rule, value)| (rule.as_str(), value));
        let mut made = filter_env(named, &base.to_map(), options);
        made.variables.sort_unstable_keys();
        let mut variables = Self::default();
        let inherited = base.secret_names();
        for (name, value) in made.variables {
            let is_inherited = inherited.contains(&*name) && base.get(&name) == Some(&value);
            if is_inherited || made.sensitive.contains(&name) {
                variables.add_with_secret(name, value);
            } else {
                variables.add(name, value);
            }
        }
        variables.hidden.append(&base.hidden);
        for (_, value) in rules.iter().filter(|(_, value)| value.has_sensitive()) {
            variables.hide(value.revealed().to_string());
        }
        variables
    }

    /// Returns names and values in clear. Of variables with the same name, the last one counts.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let all = self.iter();
        all.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// Returns the names of the secret variables.
    pub fn secret_names(&self) -> BTreeSet<&str> {
        let secret = self.all.iter().filter(|variable| variable.secret);
        secret.map(|variable| variable.name.as_str()).collect()
    }

    /// Adds a variable whose value is not secret.
    pub fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.push(name, value, false);
    }

    /// Adds a variable whose whole value is a secret, which is redacted in all output.
    pub fn add_secret(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let value = value.into();
        self.hidden.add(value.as_str());
        self.push(name, value, true);
    }

    /// Adds a variable whose value is or contains a secret.
    ///
    /// Only the parts given to [`Self::hide`] are redacted in output.
    pub fn add_with_secret(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.push(name, value, true);
    }

    fn push(&mut self, name: impl Into<String>, value: impl Into<String>, secret: bool) {
        self.all.push(Variable {
            name: name.into(),
            value: value.into(),
            secret,
        });
    }

    /// Redacts a text in all output.
    pub fn hide(&mut self, text: impl Into<String>) {
        self.hidden.add(text);
    }

    /// Appends other variables, with their redacted texts.
    pub fn append(&mut self, others: Self) {
        self.all.extend(others.all);
        self.hidden.append(&others.hidden);
    }

    /// Marks the values of selected variables as secret.
    pub fn mark(&mut self, is_secret: impl Fn(&str) -> bool) {
        for variable in &mut self.all {
            variable.secret |= is_secret(&variable.name);
        }
    }

    /// Keeps the variables whose name and value satisfy the condition.
    pub fn retain(&mut self, keeps: impl Fn(&str, &str) -> bool) {
        self.all.retain(|it| keeps(&it.name, &it.value));
    }

    /// Returns names and values in clear, for the process that receives them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.all.iter();
        all.map(|variable| (variable.name.as_str(), variable.value.as_str()))
    }

    /// Splits the variables into public and secret ones.
    ///
    /// Secret are those marked as such, and those whose value `must_hide` selects.
    pub fn split(self, must_hide: impl Fn(&str) -> bool) -> (Self, Self) {
        let Self { all, hidden } = self;
        let is_open = |it: &Variable| !it.secret && !must_hide(&it.value);
        let (open, secret) = all.into_iter().partition(is_open);
        let of = |all| Self {
            all,
            hidden: hidden.clone(),
        };
        (of(open), of(secret))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.all.iter().rev().find(|it| it.name == name);
        found.map(|it| it.value.as_str())
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the texts to redact in output.
    pub fn hidden(&self) -> &Secrets {
        &self.hidden
    }
}

impl Debug for Variables {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let all = self.all.iter().map(Variable::shown_value);
        f.debug_map().entries(all).finish()
    }
}

impl Serialize for Variables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.all.iter().map(Variable::shown_value))
    }
}

impl From<Vec<(String, String)>> for Variables {
    fn from(all: Vec<(String, String)>) -> Self {
        all.into_iter().collect()
    }
}

impl FromIterator<(String, String)> for Variables {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(all: I) -> Self {
        let mut variables = Self::default();
        variables.extend(all);
        variables
    }
}

impl Extend<(String, String)> for Variables {
    fn extend<I: IntoIterator<Item = (String, String)>>(&mut self, all: I) {
        all.into_iter()
            .for_each(|(name, value)| self.add(name, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let mut variables = Variables::default();
        variables.add("USER", "joe");
        variables.add_secret("TOKEN", "hunter2");
        variables.add_with_secret("PATH", "sesame:/bin");
        variables.hide("sesame");
        variables
    }

    #[test]
    fn a_secret_is_neither_shown_nor_serialized() {
        let variables = variables();
        let shown = r#"{"USER": "joe", "TOKEN": "<<REDACTED>>", "PATH": "<<REDACTED>>"}"#;
        assert_eq!(format!("{variables:?}"), shown);
        let json = serde_json::to_string(&variables).unwrap();
        let written = r#"[["USER","joe"],["TOKEN","<<REDACTED>>"],["PATH","<<REDACTED>>"]]"#;
        assert_eq!(json, written);
    }

    #[test]
    fn a_process_gets_all_of_them_and_the_last_of_a_name_counts() {
        let mut variables = variables();
        let mut later = Variables::default();
        later.add_secret("USER", "jane");
        variables.append(later);
        let all: Vec<_> = variables.iter().collect();
        let expected = [
            ("USER", "joe"),
            ("TOKEN", "hunter2"),
            ("PATH", "sesame:/bin"),
            ("USER", "jane"),
        ];
        assert_eq!(all, expected);
        assert_eq!(variables.get("USER"), Some("jane"));
        let hidden = variables.hidden();
        let found = ["hunter2", "sesame", "jane"].map(|text| hidden.occur_in(text));
        assert_eq!((found, hidden.len()), ([true; 3], 3));
    }

    #[test]
    fn variables_of_secret_rules_are_secret_and_so_is_what_the_rules_say() {
        let secret = |text: &str| Value::from(text).sensitive();
        let rules = [
            ("TOKEN".to_owned(), secret("hunter2")),
            ("^PATH".to_owned(), secret("sesame")),
            ("USER".to_owned(), Value::from("joe")),
        ];
        let mut base = Variables::default();
        base.add("PATH", "/bin");
        base.add_secret("OLD", "before");
        let variables = Variables::from_rules(&rules, &base, EnvRuleOptions::default());
        let all: Vec<_> = variables.iter().collect();
        let expected = [
            ("OLD", "before"),
            ("PATH", "sesame:/bin"),
            ("TOKEN", "hunter2"),
            ("USER", "joe"),
        ];
        assert_eq!(all, expected);
        let shown = r#"{"OLD": "<<REDACTED>>", "PATH": "<<REDACTED>>", "TOKEN": "<<REDACTED>>", "USER": "joe"}"#;
        assert_eq!(format!("{variables:?}"), shown);
        let hidden = variables.hidden();
        let found = ["hunter2", "before", "sesame"].map(|text| hidden.occur_in(text));
        assert_eq!((found, hidden.len()), ([true; 3], 3));
    }

    #[test]
    fn a_variable_that_is_marked_is_not_shown() {
        let mut variables = Variables::default();
        variables.add("TOKEN", "hunter2");
        variables.mark(|name| name == "TOKEN");
        assert_eq!(format!("{variables:?}"), r#"{"TOKEN": "<<REDACTED>>"}"#);
    }

    #[test]
    fn secrets_are_split_off_and_so_is_what_repeats_them() {
        let mut variables = variables();
        variables.add("COPY", "it is hunter2");
        let hidden = variables.hidden().clone();
        let (open, secret) = variables.split(|value| hidden.may_occur_in(value));
        assert_eq!(open.iter().collect::<Vec<_>>(), [("USER", "joe")]);
        let names: Vec<&str> = secret.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["TOKEN", "PATH", "COPY"]);
    }
}
