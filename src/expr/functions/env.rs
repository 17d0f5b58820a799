//! `get_env`, `has_env` and `to_env` with its rules.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::item::{Item, Scene};
use crate::expr::reads::Read;
use crate::value::{Map, Value};

use super::call::Call;

/// Variables that a rule removes only if it names them.
const REQUIRED: [&str; 21] = [
    "ASDF_DATA_DIR",
    "CURL_CA_BUNDLE",
    "PATH",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "PYTHONPATH",
    "TMPDIR",
    "VIRTUAL_ENV",
    "UNFURL_TMPDIR",
    "UNFURL_LOGGING",
    "UNFURL_HOME",
    "UNFURL_RUNTIME",
    "UNFURL_NORUNTIME",
    "UNFURL_APPROVE",
    "UNFURL_VALIDATION_MODE",
];

impl Evaluator {
    /// A variable of the environment of the task; the read is recorded.
    pub(in crate::expr) fn env(&self, name: &str, scene: &Scene) -> Option<String> {
        let value = match &scene.context.env {
            Some(env) => env.0.get(name).cloned(),
            None => self.world().env(name),
        };
        let read = Read::Env(self.memo().name(name));
        self.tracker().read(read, value.clone().map(Value::from));
        value
    }

    fn env_all(&self, scene: &Scene) -> BTreeMap<String, String> {
        match &scene.context.env {
            Some(env) => BTreeMap::clone(&env.0),
            None => self.world().env_all().into_iter().collect(),
        }
    }
}

/// Why `update_os_environ` is refused.
const NO_UPDATE: &str = "cannot change the environment of this process (`update_os_environ`): all \
    tasks share the process, and run at the same time; give the map to the operations that need \
    it, as their `environment`";

pub(super) fn get_env(call: &Call<'_>) -> Result<Item, Error> {
    let args = call.raw;
    if !args.is_truthy() {
        let all = call.evaluator.env_all(call.scene);
        return Ok(Item::Value(Value::map(
            all.into_iter().map(|(name, value)| (name, value.into())),
        )));
    }
    let (name, default) = match args {
        Value::List(items) => (items.first().unwrap_or(&Value::Null), items.get(1)),
        other => (other, None),
    };
    let name = call.evaluate(name)?;
    let Some(name) = name.as_str() else {
        return Err(call.fail(format!("takes the name of a variable, not {}", name.kind())));
    };
    match (call.evaluator.env(name, call.scene), default) {
        (Some(value), _) => Ok(Item::Value(value.into())),
        (None, Some(default)) => call.evaluate(default).map(Item::Value),
        (None, None) => Ok(Item::Value(Value::Null)),
    }
}

pub(super) fn has_env(call: &Call<'_>) -> Result<Item, Error> {
    let name = call.value()?;
    let name = name.as_str().unwrap_or_default();
    Ok(Item::Value(
        call.evaluator.env(name, call.scene).is_some().into(),
    ))
}

pub(super) fn to_env(call: &Call<'_>) -> Result<Item, Error> {
    let rules = call.value()?;
    let empty = Map::new();
    let rules = match rules.reveal() {
        Value::Null => &empty,
        Value::Map(rules) => &**rules,
        other => return Err(call.fail(format!("takes a map of rules, not {}", other.kind()))),
    };
    let env = call.evaluator.env_all(call.scene);
    let mut added = BTreeMap::new();
    let mut order = Vec::new();
    for (rule, value) in rules {
        apply(rule, value, &env, &mut added, &mut order).map_err(|problem| call.fail(problem))?;
    }
    if call
        .option("update_os_environ")?
        .is_some_and(|update| update.is_truthy())
    {
        return Err(call.fail(NO_UPDATE));
    }
    let result = order.into_iter().filter_map(|name| {
        let value = added.get(&name)?.clone();
        Some((name, Value::from(value)))
    });
    Ok(Item::Value(Value::map(result)))
}

/// Applies one rule: sets, copies (`+`), removes (`-`) or prepends (`^`).
fn apply(
    rule: &str,
    value: &Value,
    env: &BTreeMap<String, String>,
    added: &mut BTreeMap<String, String>,
    order: &mut Vec<String>,
) -> Result<(), String> {
    let text = text_of(value).map(|text| substitute(&text, added, env));
    let mut set = |name: &str, value: String| {
        if added.insert(name.to_owned(), value).is_none() {
            order.push(name.to_owned());
        }
    };
    let sign = rule.chars().next().filter(|sign| "+-^".contains(*sign));
    let Some(sign) = sign else {
        if let Some(text) = text {
            set(rule, text);
        }
        return Ok(());
    };
    let name = &rule[1..];
    let (name, negated) = name
        .strip_prefix('!')
        .map_or((name, false), |name| (name, true));
    let glob = glob(name)?;
    let matches = |key: &String| glob.is_match(key) != negated;
    if sign == '-' {
        let explicit = REQUIRED.contains(&name);
        added.retain(|key, _| !matches(key) || (REQUIRED.contains(&&**key) && !explicit));
        order.retain(|key| added.contains_key(key));
        return Ok(());
    }
    let found: Vec<_> = env.iter().filter(|(key, _)| matches(key)).collect();
    match (found.is_empty(), text) {
        (true, Some(text)) => set(name, text),
        (true, None) => {}
        (false, Some(text)) if sign == '^' && !text.is_empty() => {
            for (key, old) in found {
                set(key, format!("{text}:{old}"));
            }
        }
        (false, _) => found
            .iter()
            .for_each(|(key, old)| set(key, String::clone(old))),
    }
    Ok(())
}

fn text_of(value: &Value) -> Option<String> {
    match value.reveal() {
        Value::Null => None,
        Value::Bool(true) => Some("true".to_owned()),
        Value::Bool(false) => Some(String::new()),
        other => Some(other.to_string()),
    }
}

/// Puts in `${NAME}`, `${A|B}` and `${NAME:default}`.
fn substitute(
    text: &str,
    first: &BTreeMap<String, String>,
    then: &BTreeMap<String, String>,
) -> String {
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(\\+)?\$\{([\w|]+)(:[^\n]+?)?\}").expect("the pattern is well formed")
    });
    let replace = |found: &Captures<'_>| {
        if let Some(escape) = found.get(1) {
            return found[0][(escape.len() - 1).max(1)..].to_owned();
        }
        let known = |name: &str| first.get(name).or_else(|| then.get(name)).cloned();
        found[2].split('|').find_map(known).unwrap_or_else(|| {
            found
                .get(3)
                .map_or_else(String::new, |default| default.as_str()[1..].to_owned())
        })
    };
    REFERENCE.replace_all(text, replace).into_owned()
}

/// A regular expression for a pattern with `*`, `?` and sets of characters.
pub(in crate::expr) fn glob(pattern: &str) -> Result<Regex, String> {
    let mut regex = String::from("(?s)^");
    for character in pattern.chars() {
        match character {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' | ']' => regex.push(character),
            '!' if regex.ends_with('[') => regex.push('^'),
            other => regex.push_str(&regex::escape(&other.to_string())),
        }
    }
    regex.push('$');
    Regex::new(&regex).map_err(|_| format!("`{pattern}` is not a pattern"))
}
