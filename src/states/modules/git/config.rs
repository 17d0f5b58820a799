//! The states `git.config_set` and `git.config_unset`: settings of a repository or of a user.
//!
//! Both read the values with `git config -z` and set or unset them one by one.

use std::collections::BTreeMap;

use super::repository::{GitAccess, git_command, target_path};
use crate::host::fact::Domain;
use crate::states::modules::decision::{
    act_or_fail, failure, old_new, single_change, text_list, unchanged,
};
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::quote_word;
use crate::value::{Map, Value};

/// The scope of a setting: a repository or the user's global configuration.
struct ConfigScope {
    /// The `git config` command with the scope option; the operation is appended.
    command: String,
    path: String,
    is_global: bool,
    access: GitAccess,
}

impl ConfigScope {
    fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        let access = GitAccess::from_call(call)?;
        if call.flag("global", false) {
            return Ok(Self {
                command: "git config --global".to_owned(),
                path: "/".to_owned(),
                is_global: true,
                access,
            });
        }
        if call.arg("repo").is_none() {
            return refuse("Non-global config options require the 'repo' argument to be set");
        }
        let path = target_path(call, "repo")?;
        Ok(Self {
            command: git_command(&path, ["config", "--local"]),
            path,
            is_global: false,
            access,
        })
    }

    fn read_values(&self, facts: &FactCache, words: &str) -> Result<Vec<String>, Halt> {
        let text = format!("{} -z {words}", self.command);
        // The path of the user's configuration is not known here, so any change makes the reading stale.
        let reads = if self.is_global {
            Domain::All
        } else {
            Domain::Path(self.path.clone())
        };
        let answer = self.access.probe(facts, text, reads)?;
        // Exit code 1 of `git config` means that the key does not exist.
        if answer.code > 1 {
            return refuse(answer.error);
        }
        Ok(answer
            .text
            .split_terminator('\0')
            .map(str::to_owned)
            .collect())
    }

    fn config_change(&self, words: &str) -> crate::host::change::Change {
        self.access
            .change(format!("{} {words}", self.command), &self.path)
    }
}

fn setting_key(call: &StateCall<'_>) -> Result<String, Halt> {
    let key = call.name.trim();
    if key.starts_with('-') || key.contains(['\n', '\0']) || !key.contains('.') {
        return refuse(format!(
            "'{key}' is not a git configuration key: write section.name, such as user.email"
        ));
    }
    Ok(key.to_owned())
}

/// Returns the desired values and their form in messages. The inner error is the comment of the failed
/// state.
fn desired_values(
    call: &StateCall<'_>,
) -> Result<Result<(Vec<String>, String), &'static str>, Halt> {
    let all: Vec<String> = match (call.text("value")?, call.arg("multivar")) {
        (Some(_), Some(_)) => {
            return Ok(Err("Only one of 'value' and 'multivar' is permitted"));
        }
        (Some(value), None) => {
            let shown = format!("'{value}'");
            return Ok(Ok((vec![value], shown)));
        }
        (None, Some(Value::Str(text))) => text.split(',').map(str::to_owned).collect(),
        (None, Some(_)) => call.texts("multivar")?,
        (None, None) => return Ok(Err("Either 'value' or 'multivar' must be given")),
    };
    let shown = text_list(all.iter().map(String::as_str)).to_string();
    Ok(Ok((all, shown)))
}

/// Decides `git.config_set`: gives a setting one or more values.
pub(super) fn set(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let scope = ConfigScope::from_call(call)?;
    let key = setting_key(call)?;
    let (desired, shown) = match desired_values(call)? {
        Ok(desired) => desired,
        Err(why) => return failure(why),
    };
    let is = scope.read_values(facts, &format!("--get-all {}", quote_word(&key)))?;
    let title = if scope.is_global {
        format!("Global key '{key}'")
    } else {
        format!("'{key}'")
    };
    if is == desired {
        return unchanged(format!("{title} is already set to {shown}"));
    }
    let list = |items: &[String]| match items {
        [] => Value::Null,
        items => text_list(items.iter().map(String::as_str)),
    };
    let (old, new) = (list(&is), list(&desired));
    let verb = if is.is_empty() { "added as" } else { "set to" };
    let changes = Map::from_iter([("old".into(), old.clone()), ("new".into(), new.clone())]);
    let predicted = StateOutcome::would_change(changes, format!("{title} would be {verb} {shown}"));
    let steps = desired
        .iter()
        .enumerate()
        .map(|(number, value)| {
            let option = if number == 0 {
                "--replace-all"
            } else {
                "--add"
            };
            scope.config_change(&format!(
                "{option} {} {}",
                quote_word(&key),
                quote_word(value)
            ))
        })
        .collect();
    let outcome = StateOutcome::changed(
        single_change(&key, old_new(old, new)),
        format!("{title} was {verb} {shown}"),
    );
    let complaint = format!("Failed to set {title} to {shown}: ");
    act_or_fail(predicted, steps, outcome, complaint)
}

/// Decides `git.config_unset`: removes settings whose keys match an expression.
pub(super) fn unset(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let scope = ConfigScope::from_call(call)?;
    let name = setting_key(call)?;
    let value_regex = call.text("value_regex")?;
    let all = call.flag("all", false);
    let pattern = format!("^{}$", name.trim_start_matches('^').trim_end_matches('$'));
    let only = value_regex.as_deref().map(quote_word).unwrap_or_default();
    let words = format!("--get-regexp {} {only}", quote_word(&pattern));
    let mut matches: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in scope.read_values(facts, words.trim_end())? {
        let (key, value) = entry.split_once('\n').unwrap_or((&entry, ""));
        matches
            .entry(key.to_owned())
            .or_default()
            .push(value.to_owned());
    }
    if matches.is_empty() {
        return unchanged("No matching keys are set");
    }
    let many: Vec<String> = matches
        .iter()
        .filter(|(_, values)| values.len() > 1)
        .map(|(key, values)| format!("{key} ({})", values.join(", ")))
        .collect();
    if !all && !many.is_empty() {
        return failure(format!(
            "Multivar(s) matched by the key expression (set 'all' to True to force removal): {}",
            many.join("; ")
        ));
    }
    let changes: Map = matches
        .iter()
        .map(|(key, values)| {
            let values = text_list(values.iter().map(String::as_str));
            (key.as_str().into(), values)
        })
        .collect();
    let predicted = StateOutcome::would_change(
        changes.clone(),
        format!("{} key(s) would have value(s) unset", matches.len()),
    );
    let option = if all { "--unset-all" } else { "--unset" };
    let steps = matches
        .keys()
        .map(|key| scope.config_change(format!("{option} {} {only}", quote_word(key)).trim_end()))
        .collect();
    let outcome = StateOutcome::changed(changes, "Value(s) successfully unset");
    act_or_fail(predicted, steps, outcome, "Failed to unset value(s): ")
}
