//! Filters on text and numbers.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands arguments over by value"
)]

use minijinja::value::{Kwargs, Rest, Value as JinjaValue};
use minijinja::{Environment, State};
use regex::{Captures, Regex, RegexBuilder};

use crate::expr::item::Item;
use crate::value::Value;

use super::filters::{Result, failed, open_all};
use super::variables::Variables;

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("regex_replace", regex_replace);
    environment.add_filter("regex_search", regex_search);
    environment.add_filter("regex_findall", regex_findall);
    environment.add_filter("regex_escape", regex_escape);
    environment.add_filter("quote", quote);
    environment.add_filter("bool", to_bool);
    environment.add_filter("int", to_int);
    environment.add_filter("float", to_float);
    environment.add_filter("human_to_bytes", human_to_bytes);
    environment.add_filter("human_readable", human_readable);
    environment.add_filter("urlsplit", urlsplit);
    environment.add_filter("comment", comment);
    environment.add_filter("type_debug", type_debug);
    environment.add_filter("mandatory", mandatory);
    environment.add_filter("ternary", ternary);
}

/// A regular expression in Python's writing, as far as it is regular.
pub(super) fn regex(pattern: &str, ignore_case: bool, multiline: bool) -> Result<Regex> {
    let pattern = pattern.replace("(?P<", "(?<").replace("\\Z", "\\z");
    RegexBuilder::new(&pattern)
        .case_insensitive(ignore_case)
        .multi_line(multiline)
        .size_limit(1 << 22)
        .build()
        .map_err(|error| failed(format!("cannot use the regular expression: {error}")))
}

/// The options `ignorecase` and `multiline`.
pub(super) fn flags(options: &Kwargs) -> Result<(bool, bool)> {
    let ignore_case = options
        .get::<Option<bool>>("ignorecase")?
        .unwrap_or_default();
    let multiline = options
        .get::<Option<bool>>("multiline")?
        .unwrap_or_default();
    Ok((ignore_case, multiline))
}

fn text_of(state: &State, value: &JinjaValue) -> Result<String> {
    Ok(Variables::of(state)?.open(value)?.to_string())
}

fn regex_replace(
    state: &State,
    value: &JinjaValue,
    pattern: Option<String>,
    replacement: Option<String>,
    options: Kwargs,
) -> Result<String> {
    let text = text_of(state, value)?;
    let (ignore_case, multiline) = flags(&options)?;
    let option = |name| options.get::<Option<String>>(name);
    let pattern = pattern.or(option("pattern")?).unwrap_or_default();
    let replacement = replacement.or(option("replacement")?).unwrap_or_default();
    let count = options.get::<Option<usize>>("count")?.unwrap_or_default();
    let regex = regex(&pattern, ignore_case, multiline)?;
    let replace = |found: &Captures<'_>| expanded(&replacement, found);
    Ok(regex.replacen(&text, count, replace).into_owned())
}

/// Puts the groups in for `\1` and `\g<name>`.
fn expanded(replacement: &str, found: &Captures<'_>) -> String {
    let mut text = String::new();
    let mut rest = replacement;
    while let Some((before, after)) = rest.split_once('\\') {
        text += before;
        rest = after;
        if let Some((name, after)) = rest
            .strip_prefix("g<")
            .and_then(|rest| rest.split_once('>'))
        {
            let group = match name.parse() {
                Ok(number) => found.get(number),
                Err(_) => found.name(name),
            };
            text += group.map_or("", |group| group.as_str());
            rest = after;
            continue;
        }
        let Some(next) = rest.chars().next() else {
            text.push('\\');
            break;
        };
        rest = &rest[next.len_utf8()..];
        match next {
            '0'..='9' => {
                let mut number = next.to_digit(10).unwrap_or_default() as usize;
                if let Some(digit) = rest.chars().next().and_then(|next| next.to_digit(10)) {
                    number = number * 10 + digit as usize;
                    rest = &rest[1..];
                }
                text += found.get(number).map_or("", |group| group.as_str());
            }
            'n' => text.push('\n'),
            't' => text.push('\t'),
            '\\' => text.push('\\'),
            other => {
                text.push('\\');
                text.push(other);
            }
        }
    }
    text + rest
}

fn regex_search(
    state: &State,
    value: &JinjaValue,
    pattern: String,
    groups: Rest<String>,
    options: Kwargs,
) -> Result<JinjaValue> {
    let text = text_of(state, value)?;
    let (ignore_case, multiline) = flags(&options)?;
    let regex = regex(&pattern, ignore_case, multiline)?;
    let Some(found) = regex.captures(&text) else {
        return Ok(JinjaValue::from(()));
    };
    if groups.is_empty() {
        return Ok(found[0].into());
    }
    let group = |name: &String| {
        let plain = name.trim_start_matches('\\');
        let plain = plain
            .strip_prefix("g<")
            .and_then(|name| name.strip_suffix('>'))
            .unwrap_or(plain);
        let group = match plain.parse() {
            Ok(number) => found.get(number),
            Err(_) => found.name(plain),
        };
        group.map_or(JinjaValue::from(()), |group| group.as_str().into())
    };
    Ok(groups.iter().map(group).collect::<Vec<_>>().into())
}

fn regex_findall(
    state: &State,
    value: &JinjaValue,
    pattern: String,
    options: Kwargs,
) -> Result<JinjaValue> {
    let text = text_of(state, value)?;
    let (ignore_case, multiline) = flags(&options)?;
    let regex = regex(&pattern, ignore_case, multiline)?;
    let text_of = |found: &Captures<'_>, group| {
        JinjaValue::from(found.get(group).map_or("", |group| group.as_str()))
    };
    let found = regex.captures_iter(&text).map(|found| match found.len() {
        1 => text_of(&found, 0),
        2 => text_of(&found, 1),
        count => (1..count)
            .map(|group| text_of(&found, group))
            .collect::<Vec<_>>()
            .into(),
    });
    Ok(found.collect::<Vec<_>>().into())
}

fn regex_escape(text: String) -> String {
    regex::escape(&text)
}

fn quote(state: &State, value: &JinjaValue) -> Result<String> {
    Ok(quote_for_shell(&text_of(state, value)?))
}

/// Quotes a word for a shell, where it needs that.
pub fn quote_for_shell(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\"'\"'"))
    }
}

fn to_bool(state: &State, value: &JinjaValue) -> Result<JinjaValue> {
    let value = Variables::of(state)?.open(value)?;
    Ok(match &value {
        Value::Null => JinjaValue::from(()),
        Value::Bool(truth) => (*truth).into(),
        Value::Str(text) => {
            let text = text.to_lowercase();
            ["yes", "on", "1", "true"].contains(&&*text).into()
        }
        other => (*other == Value::Int(1)).into(),
    })
}

fn to_int(
    state: &State,
    value: &JinjaValue,
    default: Option<i64>,
    base: Option<u32>,
    options: Kwargs,
) -> Result<JinjaValue> {
    let value = Variables::of(state)?.open(value)?;
    let default = default.or(options.get("default")?);
    let base = base.or(options.get("base")?);
    let base = base.unwrap_or(10).clamp(2, 36);
    let number = match &value {
        Value::Int(int) => Some(*int),
        Value::Bool(truth) => Some((*truth).into()),
        Value::Float(float) => truncated(*float),
        Value::Big(_) => return Ok(value.to_string().parse::<i128>().unwrap_or_default().into()),
        Value::Str(text) => {
            let text = text.trim().replace('_', "").to_lowercase();
            let prefix = match base {
                16 => "0x",
                8 => "0o",
                2 => "0b",
                _ => "",
            };
            let digits = text.strip_prefix(prefix).unwrap_or(&text);
            let whole = i64::from_str_radix(digits, base).ok();
            whole.or_else(|| text.parse().ok().and_then(truncated))
        }
        _ => None,
    };
    Ok(number.or(default).unwrap_or_default().into())
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn truncated(float: f64) -> Option<i64> {
    (float.abs() < 9.2e18).then_some(float as i64)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python makes a float of an integer the same way"
)]
fn to_float(
    state: &State,
    value: &JinjaValue,
    default: Option<f64>,
    options: Kwargs,
) -> Result<f64> {
    let value = Variables::of(state)?.open(value)?;
    let default = default.or(options.get("default")?);
    let number = match &value {
        Value::Int(int) => Some(*int as f64),
        Value::Bool(truth) => Some(u8::from(*truth).into()),
        Value::Float(float) => Some(*float),
        other => other.to_string().trim().parse().ok(),
    };
    Ok(number.or(default).unwrap_or_default())
}

const SIZES: &str = "KMGTPEZY";

fn human_to_bytes(state: &State, value: &JinjaValue) -> Result<JinjaValue> {
    let text = text_of(state, value)?;
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end]
        .parse()
        .map_err(|_| failed(format!("`{text}` is no size")))?;
    let unit = text[end..].trim().to_uppercase();
    let first = unit.chars().next().filter(|unit| *unit != 'B');
    let power = match first {
        None => 0,
        Some(unit) => {
            let place = SIZES
                .find(unit)
                .ok_or_else(|| failed(format!("`{text}` is no size")))?;
            i32::try_from(place).unwrap_or_default() + 1
        }
    };
    Ok(truncated((number * 1024f64.powi(power)).round())
        .unwrap_or(i64::MAX)
        .into())
}

fn human_readable(state: &State, value: &JinjaValue) -> Result<String> {
    let mut size = to_float(
        state,
        value,
        None,
        std::iter::empty::<(&str, JinjaValue)>().collect(),
    )?;
    let mut unit = String::from("bytes");
    for letter in SIZES.chars() {
        if size.abs() < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = format!("{letter}B");
    }
    Ok(format!("{size:.2} {unit}"))
}

fn urlsplit(state: &State, url: String, query: Option<String>) -> Result<JinjaValue> {
    let (rest, fragment) = url.split_once('#').unwrap_or((&url, ""));
    let (rest, query_text) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest
        .split_once("://")
        .map_or(("", rest), |(scheme, rest)| (scheme, rest));
    let (netloc, path) = match (scheme, rest.find('/')) {
        ("", _) => ("", rest),
        (_, Some(slash)) => rest.split_at(slash),
        (_, None) => (rest, ""),
    };
    let (user, host) = netloc.rsplit_once('@').unwrap_or(("", netloc));
    let (username, password) = user.split_once(':').unwrap_or((user, ""));
    let (hostname, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let text = |text: &str| Value::from(text);
    let or_null = |text: &str| {
        if text.is_empty() {
            Value::Null
        } else {
            text.into()
        }
    };
    let parts = Value::map([
        ("scheme", text(scheme)),
        ("netloc", text(netloc)),
        ("path", text(path)),
        ("query", text(query_text)),
        ("fragment", text(fragment)),
        ("username", or_null(username)),
        ("password", or_null(password)),
        ("hostname", or_null(&hostname.to_lowercase())),
        ("port", port.parse::<i64>().ok().into()),
    ]);
    let variables = Variables::of(state)?;
    let answer = match query.filter(|query| !query.is_empty()) {
        Some(name) => parts
            .get(&name)
            .cloned()
            .ok_or_else(|| failed(format!("URLs have no `{name}`")))?,
        None => parts,
    };
    Ok(variables.give(Item::Value(answer)))
}

fn comment(text: String) -> String {
    let lines = text
        .lines()
        .map(|line| format!("# {line}").trim_end().to_owned());
    format!("#\n{}\n#", lines.collect::<Vec<_>>().join("\n"))
}

fn type_debug(state: &State, value: &JinjaValue) -> Result<&'static str> {
    Ok(match Variables::of(state)?.open(value)? {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Big(_) => "int",
        Value::Float(_) => "float",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
        _ => "str",
    })
}

fn mandatory(value: &JinjaValue, message: Option<String>) -> Result<JinjaValue> {
    if value.is_undefined() {
        return Err(failed(
            message.unwrap_or_else(|| "a mandatory variable is not defined".into()),
        ));
    }
    Ok(value.clone())
}

fn ternary(state: &State, value: &JinjaValue, args: Rest<JinjaValue>) -> Result<JinjaValue> {
    let values = open_all(&*Variables::of(state)?, &args)?;
    let place = match values.len() {
        3 if value.is_none() => 2,
        2 | 3 => usize::from(!value.is_true()),
        _ => return Err(failed("`ternary` takes two or three values")),
    };
    Ok(args[place].clone())
}

#[cfg(test)]
mod tests {
    use super::quote_for_shell as quote;

    #[test]
    fn words_that_need_it_are_quoted() {
        assert_eq!(quote("a-b.c"), "a-b.c");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), "'it'\"'\"'s'");
    }
}
