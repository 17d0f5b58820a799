//! Filters on regular expressions in Python's syntax, without features such as backreferences that the Rust
//! crate `regex` lacks.

use minijinja::value::Value as JinjaValue;
use regex::{Captures, Regex, RegexBuilder};

use crate::value::{List, Value};

use super::arguments::{FilterArguments, FilterTable, VARIADIC};
use super::error::{Result, filter_error};
use super::limits;

const REPLACE: &[&str] = &[
    "pattern",
    "replacement",
    "ignorecase",
    "multiline",
    "count",
    "mandatory_count",
];
const SEARCH: &[&str] = &[VARIADIC, "ignorecase", "multiline"];
const FIND_ALL: &[&str] = &["regex", "multiline", "ignorecase"];

/// The number of replacements after which the budget of the evaluation is checked.
const MATCHES_PER_CHECK: usize = 1024;

/// The filters on regular expressions, by name.
pub(super) const FILTERS: FilterTable = &[
    ("regex_replace", REPLACE, regex_replace),
    ("regex_search", SEARCH, regex_search),
    ("regex_findall", FIND_ALL, regex_findall),
    ("regex_escape", &["re_type"], regex_escape),
];

/// Compiles a regular expression in Python's syntax.
pub(super) fn regex(pattern: &str, ignore_case: bool, multiline: bool) -> Result<Regex> {
    let pattern = pattern.replace("(?P<", "(?<").replace("\\Z", "\\z");
    RegexBuilder::new(&pattern)
        .case_insensitive(ignore_case)
        .multi_line(multiline)
        .size_limit(1 << 22)
        .build()
        .map_err(|error| filter_error(format!("cannot use the regular expression: {error}")))
}

/// Compiles a regular expression with the flags among the arguments of a filter or test.
pub(super) fn regex_with_flags(args: &FilterArguments<'_>, pattern: &str) -> Result<Regex> {
    let ignore_case = args.flag("ignorecase", false)?;
    regex(pattern, ignore_case, args.flag("multiline", false)?)
}

fn regex_replace(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let pattern = args.text("pattern")?.unwrap_or_default();
    let replacement = args.text("replacement")?.unwrap_or_default();
    let count = args
        .size("count")?
        .filter(|count| *count > 0)
        .unwrap_or(usize::MAX);
    let regex = regex_with_flags(args, &pattern)?;
    let mut done = String::new();
    let (mut last, mut replaced) = (0, 0);
    for found in regex.captures_iter(&text).take(count) {
        let whole = found.get_match();
        done += &text[last..whole.start()];
        done += &expand_references(&replacement, &found);
        limits::check_text_length(done.len())?;
        last = whole.end();
        replaced += 1;
        if replaced % MATCHES_PER_CHECK == 0 {
            args.variables.check_budget()?;
        }
    }
    let required = args.size("mandatory_count")?.unwrap_or_default();
    if required > 0 && required != replaced {
        return Err(args.fail(format!(
            "`{pattern}` occurs {replaced} times, not {required}"
        )));
    }
    Ok((done + &text[last..]).into())
}

/// Returns the text of a capture group, by number or name.
fn group<'t>(found: &Captures<'t>, name: &str) -> Option<&'t str> {
    let group = match name.parse() {
        Ok(number) => found.get(number),
        Err(_) => found.name(name),
    };
    group.map(|group| group.as_str())
}

/// Replaces `\1` and `\g<name>` by the captured groups.
fn expand_references(replacement: &str, found: &Captures<'_>) -> String {
    let mut text = String::new();
    let mut rest = replacement;
    while let Some((before, after)) = rest.split_once('\\') {
        text += before;
        rest = after;
        if let Some((name, after)) = rest
            .strip_prefix("g<")
            .and_then(|rest| rest.split_once('>'))
        {
            text += group(found, name).unwrap_or_default();
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

fn regex_search(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let mut supplied = args.positional.iter();
    let pattern = supplied
        .next()
        .ok_or_else(|| args.fail("takes a regular expression"))?;
    let pattern = args.variables.revealed_value(pattern)?.to_string();
    let regex = regex_with_flags(args, &pattern)?;
    let Some(found) = regex.captures(&text) else {
        return Ok(JinjaValue::from(()));
    };
    let mut groups = List::new();
    for name in supplied {
        let name = args.variables.revealed_value(name)?.to_string();
        let plain = name.trim_start_matches('\\');
        let plain = plain
            .strip_prefix("g<")
            .and_then(|name| name.strip_suffix('>'))
            .unwrap_or(plain);
        groups.push(group(&found, plain).map(Value::from).unwrap_or_default());
    }
    if groups.is_empty() {
        return Ok(found[0].into());
    }
    args.engine_list(groups)
}

fn regex_findall(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let pattern = args.text("regex")?.unwrap_or_default();
    let regex = regex_with_flags(args, &pattern)?;
    let text_of = |found: &Captures<'_>, group| {
        Value::from(found.get(group).map_or("", |group| group.as_str()))
    };
    let found = regex
        .captures_iter(&text)
        .take(limits::MAX_ITEMS + 1)
        .map(|found| match found.len() {
            1 => text_of(&found, 0),
            2 => text_of(&found, 1),
            count => Value::list((1..count).map(|group| text_of(&found, group))),
        });
    args.engine_list(found.collect())
}

fn regex_escape(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let kind = args.text("re_type")?;
    let special = match kind.as_deref().unwrap_or("python") {
        "python" => "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}",
        "posix_basic" => "[].^$*\\",
        other => {
            return Err(args.fail(format!(
                "the `re_type` `{other}` is not supported; use `python` or `posix_basic`"
            )));
        }
    };
    let mut escaped = String::new();
    for character in text.chars() {
        if special.contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    Ok(escaped.into())
}
