//! Filters on regular expressions in Python's syntax.

use minijinja::Error as JinjaError;
use minijinja::value::Value as JinjaValue;

use crate::text::{Pattern, PatternError, PatternFlags, PatternMatch};
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
pub(super) fn regex(pattern: &str, ignore_case: bool, multi_line: bool) -> Result<Pattern> {
    let flags = PatternFlags {
        ignore_case,
        multi_line,
    };
    Pattern::with_flags(pattern, flags).map_err(|error| unusable(&error))
}

/// Returns the error for a regular expression that cannot be used.
pub(super) fn unusable(error: &PatternError) -> JinjaError {
    filter_error(format!("cannot use the regular expression: {error}"))
}

/// Compiles a regular expression with the flags among the arguments of a filter or test.
pub(super) fn regex_with_flags(args: &FilterArguments<'_>, pattern: &str) -> Result<Pattern> {
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
    for found in regex.matches(&text).take(count) {
        let found = found.map_err(|error| unusable(&error))?;
        let (start, end) = found.place();
        done += &text[last..start];
        done += &found.expand(&replacement);
        limits::check_text_length(done.len())?;
        last = end;
        replaced += 1;
        if regex.backtracks() || replaced % MATCHES_PER_CHECK == 0 {
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

fn regex_search(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let mut supplied = args.positional.iter();
    let pattern = supplied
        .next()
        .ok_or_else(|| args.fail("takes a regular expression"))?;
    let pattern = args.variables.revealed_value(pattern)?.to_string();
    let regex = regex_with_flags(args, &pattern)?;
    let found = regex.search(&text).map_err(|error| unusable(&error))?;
    let Some(found) = found else {
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
        groups.push(found.group_of(plain).map(Value::from).unwrap_or_default());
    }
    if groups.is_empty() {
        return Ok(found.group(0).unwrap_or_default().into());
    }
    args.engine_list(groups)
}

fn regex_findall(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let pattern = args.text("regex")?.unwrap_or_default();
    let regex = regex_with_flags(args, &pattern)?;
    let text_of =
        |found: &PatternMatch<'_>, group| Value::from(found.group(group).unwrap_or_default());
    let mut all = List::new();
    for found in regex.matches(&text).take(limits::MAX_ITEMS + 1) {
        let found = found.map_err(|error| unusable(&error))?;
        all.push(match found.group_count() {
            1 => text_of(&found, 0),
            2 => text_of(&found, 1),
            count => Value::list((1..count).map(|group| text_of(&found, group))),
        });
        if regex.backtracks() {
            args.variables.check_budget()?;
        }
    }
    args.engine_list(all)
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
