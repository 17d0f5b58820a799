//! Expressions of Unfurl in playbooks: `{{ '.name' | eval }}` and variables such as `SELF`.
//!
//! Unfurl runs Ansible within its own process, so that playbooks can use its filters and variables. Here they are
//! evaluated before the playbook runs, as far as their texts are written in it: filters look up the values by a plugin,
//! and variables are extra variables of the playbook.

use std::collections::{BTreeMap, BTreeSet};

use super::variables::ExtraVariables;
use crate::expr::Error;
use crate::task::TaskView;
use crate::value::{Map, Value};

/// The filters of Unfurl that playbooks can use.
const FILTERS: [&str; 5] = ["eval", "ref", "get_dir", "abspath", "get_env"];
/// The variables of Unfurl that are instances. Their attributes are evaluated as far as the playbook names them.
const ENTITIES: [&str; 7] = [
    "SELF",
    "HOST",
    "ORCHESTRATOR",
    "OPERATION_HOST",
    "SOURCE",
    "TARGET",
    "INSTANCE",
];
/// The variables of Unfurl that are maps.
const MAPS: [&str; 2] = ["inputs", "arguments"];
/// The variable with the settings of the task.
const TASK: &str = "task";
/// The maximum number of levels of a playbook that are searched.
const MAX_DEPTH: usize = 100;

/// The expressions of Unfurl that occur in a playbook.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PlaybookExpressions {
    /// The texts of filter calls, such as `'.name' | eval`.
    calls: BTreeSet<FilterCall>,
    /// The parts of variables that occur, by variable.
    parts: BTreeMap<&'static str, BTreeSet<String>>,
    has_task: bool,
}

/// A call of a filter with a literal value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FilterCall {
    filter: &'static str,
    /// The literal before the filter.
    value: String,
    /// The text between the parentheses behind it; empty if there are none.
    arguments: String,
}

impl PlaybookExpressions {
    /// Finds the expressions in the texts of a value.
    pub(super) fn find(contents: &Value) -> Self {
        let mut found = Self::default();
        found.search(contents, 0);
        found
    }

    /// Returns true if the playbook needs the plugin with the filters.
    pub(super) fn has_filters(&self) -> bool {
        !self.calls.is_empty()
    }

    fn search(&mut self, value: &Value, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value.reveal() {
            Value::Str(text) => self.search_text(text),
            Value::List(items) => items.iter().for_each(|item| self.search(item, depth + 1)),
            Value::Map(map) => map.values().for_each(|item| self.search(item, depth + 1)),
            _ => {}
        }
    }

    fn search_text(&mut self, text: &str) {
        for (at, _) in text.match_indices('|') {
            self.calls.extend(filter_call(text, at));
        }
        for name in ENTITIES.into_iter().chain(MAPS) {
            for part in parts_of(text, name) {
                self.parts.entry(name).or_default().insert(part);
            }
        }
        self.has_task |= !parts_of(text, TASK).is_empty();
    }

    /// Evaluates the expressions and adds their values to the variables of the playbook. An expression that cannot be
    /// evaluated fails when the playbook uses it.
    pub(super) fn add_values(&self, task: &TaskView<'_>, variables: &mut ExtraVariables) {
        let (mut public, mut secret) = (Map::new(), Map::new());
        for call in &self.calls {
            let Some(key) = call.key(task) else { continue };
            let value = evaluate(task, &call.text());
            let entry = match value {
                Ok(value) => Value::map([("value", value)]),
                Err(problem) => Value::map([("error", Value::from(problem.to_string()).data())]),
            };
            let table = if entry.has_sensitive() {
                &mut secret
            } else {
                &mut public
            };
            table.insert(key.into(), entry);
        }
        if !public.is_empty() {
            variables.add("unfurl_expressions", public.into());
        }
        if !secret.is_empty() {
            variables.add("unfurl_secret_expressions", secret.into());
        }
        for (name, parts) in &self.parts {
            let values = parts.iter().filter_map(|part| {
                let value = evaluate(task, &format!("{name}[{}]", literal(part))).ok()?;
                Some((part.as_str().into(), value))
            });
            let values: Map = values.collect();
            if !values.is_empty() {
                variables.add(*name, values.into());
            }
        }
        if self.has_task
            && let Ok(settings) = evaluate(task, TASK)
        {
            variables.add(TASK, settings);
        }
    }
}

impl FilterCall {
    /// Returns the expression as a template has it.
    fn text(&self) -> String {
        match &*self.arguments {
            "" => format!("{} | {}", self.value, self.filter),
            arguments => format!("{} | {}({arguments})", self.value, self.filter),
        }
    }

    /// Returns the key by which the plugin finds the value: the JSON of the filter, its value and its arguments.
    fn key(&self, task: &TaskView<'_>) -> Option<String> {
        let value = evaluate(task, &self.value).ok()?;
        let arguments = evaluate(task, &format!("[{}]", self.arguments)).ok()?;
        let key = Value::list([Value::str(self.filter), value, arguments]);
        let mut key = serde_json::to_value(&key).ok()?;
        key.sort_all_objects();
        Some(key.to_string())
    }
}

/// Evaluates an expression of templates. The value is data: Ansible does not evaluate it once more.
fn evaluate(task: &TaskView<'_>, expression: &str) -> Result<Value, Error> {
    let template = Value::from(format!("{{{{ {expression} }}}}"));
    let value = task.evaluate_with(&template, &Map::new())?;
    Ok(value.with_externals_resolved().data())
}

/// Returns a text as a literal of templates.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Returns the call of a filter whose `|` is at a place of a text. None if the filter is no one of Unfurl, or its value
/// is no literal.
fn filter_call(text: &str, at: usize) -> Option<FilterCall> {
    let after = text[at + 1..].trim_start();
    let end = after
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(after.len());
    let filter = FILTERS.into_iter().find(|name| *name == &after[..end])?;
    let rest = after[end..].trim_start();
    let arguments = match rest.strip_prefix('(') {
        Some(inside) => inside[..closing_place(inside)?].trim().to_owned(),
        None => String::new(),
    };
    let value = literal_before(text[..at].trim_end())?;
    Some(FilterCall {
        filter,
        value: value.to_owned(),
        arguments,
    })
}

/// Returns the place of the parenthesis that closes the one before a text.
fn closing_place(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quote = None;
    for (place, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) => quote = Some(open).filter(|open| *open != c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')') if depth == 0 => return Some(place),
            (None, ')' | ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the literal at the end of a text: a text in quotes, a map or a list.
fn literal_before(text: &str) -> Option<&str> {
    let last = text.chars().next_back()?;
    let start = match last {
        '\'' | '"' => text[..text.len() - 1].rfind(last)?,
        '}' | ']' => opening_place(text)?,
        _ => return None,
    };
    Some(&text[start..])
}

/// Returns the place of the bracket that the last character of a text closes.
fn opening_place(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quote = None;
    for (place, c) in text.char_indices().rev() {
        match (quote, c) {
            (Some(open), c) => quote = Some(open).filter(|open| *open != c),
            (None, '\'' | '"') => quote = Some(c),
            (None, ')' | ']' | '}') => depth += 1,
            (None, '(' | '[' | '{') => {
                depth -= 1;
                if depth == 0 {
                    return Some(place);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the parts of a variable that a text names: `a` for `NAME.a` and `NAME['a']`.
fn parts_of(text: &str, name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for (at, _) in text.match_indices(name) {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| is_word(c) || c == '.' || c == '$') {
            continue;
        }
        let rest = &text[at + name.len()..];
        let part = if let Some(rest) = rest.strip_prefix('.') {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            &rest[..end]
        } else if let Some(rest) = rest.strip_prefix('[') {
            let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
            let inside = quote.and_then(|quote| rest[1..].split_once(quote));
            inside.map_or("", |(inside, _)| inside)
        } else {
            ""
        };
        if !part.is_empty() {
            parts.push(part.to_owned());
        }
    }
    parts
}
