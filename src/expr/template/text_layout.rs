//! Filters for the layout of text: `center`, `indent`, `join`, `format`, `wordwrap`, `truncate`, `urlencode`
//! and others.
use minijinja::value::Value as JinjaValue;

use crate::value::{List, Value, decode_percent, encode_percent};

use super::arguments::{FilterArguments, FilterTable, VARIADIC, VARIADIC_NAMED};
use super::error::Result;
use super::inserted_names::REMAINDER_FILTER;
use super::{limits, percent_format, remainder};

const URLIZE: &[&str] = &[
    "trim_url_limit",
    "nofollow",
    "target",
    "rel",
    "extra_schemes",
];
const TRUNCATE: &[&str] = &["length", "killwords", "end", "leeway"];
const WORDWRAP: &[&str] = &[
    "width",
    "break_long_words",
    "wrapstring",
    "break_on_hyphens",
];

/// The filters for the layout of text.
pub(super) const FILTERS: FilterTable = &[
    ("wordcount", &[], wordcount),
    ("center", &["width"], center),
    ("indent", &["width", "first", "blank"], indent),
    ("replace", &["old", "new", "count"], replace),
    ("join", &["d", "attribute"], join),
    ("format", &[VARIADIC, VARIADIC_NAMED], format),
    (REMAINDER_FILTER, &[VARIADIC], remainder::remainder),
    ("pprint", &[], |args| {
        Ok(format!("{:?}", args.subject()?).into())
    }),
    ("urlencode", &[], urlencode),
    ("urldecode", &[], |args| {
        let text = args.subject_text()?.replace('+', " ");
        Ok(decode_percent(&text).into())
    }),
    ("xmlattr", &["autospace"], xmlattr),
    ("urlize", URLIZE, urlize),
    ("truncate", TRUNCATE, truncate),
    ("wordwrap", WORDWRAP, wordwrap),
];

fn wordcount(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    Ok(args.subject_text()?.split_whitespace().count().into())
}

fn center(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let width = args.size("width")?.unwrap_or(80);
    Ok(centered(&args.subject_text()?, width, ' ')?.into())
}

/// Centers a text. As in Python, an odd space goes to the left if the width is odd.
pub(super) fn centered(text: &str, width: usize, fill: char) -> Result<String> {
    limits::check_text_length(width)?;
    let missing = width.saturating_sub(text.chars().count());
    let left = missing / 2 + (missing & width & 1);
    let side = |count: usize| fill.to_string().repeat(count);
    Ok(format!("{}{text}{}", side(left), side(missing - left)))
}

fn indent(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let margin = match args.get("width")? {
        Some(Value::Str(margin)) => margin.to_string(),
        _ => {
            let width = args.size("width")?.unwrap_or(4);
            limits::check_text_length(width)?;
            " ".repeat(width)
        }
    };
    let (first, blank) = (args.flag("first", false)?, args.flag("blank", false)?);
    let lines: Vec<&str> = text.split('\n').collect();
    limits::check_text_length(
        lines
            .len()
            .saturating_mul(margin.len())
            .saturating_add(text.len()),
    )?;
    let line = |(place, line): (usize, &&str)| {
        let margin = match place {
            0 if !first => "",
            0 => &margin,
            _ if line.is_empty() && !blank => "",
            _ => &margin,
        };
        format!("{margin}{line}")
    };
    let lines: Vec<String> = lines.iter().enumerate().map(line).collect();
    Ok(lines.join("\n").into())
}

fn replace(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let (old, new) = (
        args.text("old")?.unwrap_or_default(),
        args.text("new")?.unwrap_or_default(),
    );
    Ok(replaced(&text, &old, &new, args.size("count")?)?.into())
}

/// Replaces occurrences of a text, unless the result exceeds the maximum length.
pub(super) fn replaced(text: &str, old: &str, new: &str, count: Option<usize>) -> Result<String> {
    let count = count.unwrap_or(usize::MAX);
    let found = text.matches(old).take(count).count();
    limits::check_text_length(found.saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(text.replacen(old, new, count))
}

fn join(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let separator = args.text("d")?.unwrap_or_default();
    let mut items = args.subject_list()?;
    if let Some(attribute) = args.text("attribute")? {
        items = items
            .iter()
            .map(|item| get_attribute_path(item, &attribute))
            .collect();
    }
    Ok(joined(&items, &separator)?.into())
}

/// Joins the texts of values with a separator, unless the result exceeds the maximum length.
pub(super) fn joined(items: &[Value], separator: &str) -> Result<String> {
    let mut text = String::new();
    for (place, item) in items.iter().enumerate() {
        let item = item.to_string();
        limits::check_text_length(text.len() + separator.len() + item.len())?;
        if place > 0 {
            text += separator;
        }
        text += &item;
    }
    Ok(text)
}

/// Returns the part of a value that a path such as `a.0.b` selects. Null if the part does not exist.
pub(super) fn get_attribute_path(value: &Value, attribute: &str) -> Value {
    let step = |value: Value, name: &str| match value.reveal() {
        Value::List(items) => {
            let place = name.parse::<usize>().ok();
            place
                .and_then(|place| items.get(place))
                .cloned()
                .unwrap_or_default()
        }
        other => other.get(name).cloned().unwrap_or_default(),
    };
    attribute.split('.').fold(value.clone(), step)
}

fn format(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let values = args
        .positional
        .iter()
        .map(|value| args.variables.revealed_value(value));
    let mut values: List = values.collect::<Result<_>>()?;
    let names = if text.contains("%(") && args.named.is_empty() {
        values.pop().unwrap_or_default()
    } else {
        Value::from(args.named.clone())
    };
    let done = percent_format::format(&text, &values, &names)?;
    Ok(done.into())
}

/// Percent-encodes a text, or the pairs of a map or list as a URL query.
fn urlencode(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let part = |value: &Value| encode_percent(&value.to_string(), b" ").replace(' ', "+");
    let pair = |key: &Value, value: &Value| format!("{}={}", part(key), part(value));
    let pairs: Vec<String> = match args.subject()? {
        Value::Map(map) => (map.iter())
            .map(|(key, value)| pair(&Value::Str(key.clone()), value))
            .collect(),
        Value::List(items) => (items.iter())
            .map(|item| match item.as_list().map(Vec::as_slice) {
                Some([key, value]) => Ok(pair(key, value)),
                _ => Err(args.fail("takes a text, a map or a list of pairs")),
            })
            .collect::<Result<_>>()?,
        other => vec![encode_percent(&other.to_string(), b"/")],
    };
    Ok(pairs.join("&").into())
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&#34;",
            '\'' => escaped += "&#39;",
            other => escaped.push(other),
        }
    }
    escaped
}

fn xmlattr(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let map = args.subject_map()?;
    if let Some(bad) = map
        .keys()
        .find(|key| key.contains([' ', '/', '>', '=', '\n', '\t']))
    {
        return Err(args.fail(format!("`{bad}` cannot be the name of an attribute")));
    }
    let pairs = map.iter().filter(|(_, value)| !value.is_null());
    let pairs: Vec<String> = pairs
        .map(|(key, value)| format!("{}=\"{}\"", escaped(key), escaped(&value.to_string())))
        .collect();
    let space = if args.flag("autospace", true)? && !pairs.is_empty() {
        " "
    } else {
        ""
    };
    Ok(format!("{space}{}", pairs.join(" ")).into())
}

/// Converts the URLs in a text to HTML links.
fn urlize(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let limit = args.size("trim_url_limit")?.unwrap_or(usize::MAX);
    let mut rel: Vec<String> = args
        .text("rel")?
        .map(|rel| rel.split_whitespace().map(str::to_owned).collect())
        .unwrap_or_default();
    if args.flag("nofollow", false)? {
        rel.push("nofollow".to_owned());
    }
    rel.push("noopener".to_owned());
    rel.sort();
    let target = args.text("target")?;
    let target = target.map_or_else(String::new, |target| {
        format!(" target=\"{}\"", escaped(&target))
    });
    let word = |word: &str| {
        let is_url = ["http://", "https://", "www."]
            .iter()
            .any(|start| word.starts_with(start));
        if !is_url {
            return escaped(word);
        }
        let url = word.trim_end_matches(['.', ',', ')', '>', '\n']);
        let tail = &word[url.len()..];
        let scheme = if url.starts_with("www.") {
            "https://"
        } else {
            ""
        };
        let mut shown: String = url.chars().take(limit).collect();
        if shown.len() < url.len() {
            shown += "...";
        }
        let (url, shown, rel) = (escaped(url), escaped(&shown), rel.join(" "));
        format!(
            "<a href=\"{scheme}{url}\" rel=\"{rel}\"{target}>{shown}</a>{}",
            escaped(tail)
        )
    };
    let words: Vec<String> = text.split(' ').map(word).collect();
    Ok(words.join(" ").into())
}

fn truncate(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let length = args.size("length")?.unwrap_or(255);
    let killwords = args.flag("killwords", false)?;
    let end = args.text("end")?.unwrap_or_else(|| "...".to_owned());
    let leeway = args.size("leeway")?.unwrap_or(5);
    let text = args.subject_text()?;
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(text.into());
    }
    let shortened = length.saturating_sub(end.chars().count());
    let shortened: String = text.chars().take(shortened).collect();
    let shortened = match shortened.rsplit_once(' ') {
        Some((words, _)) if !killwords => words.to_owned(),
        _ => shortened,
    };
    Ok((shortened + &end).into())
}

fn wordwrap(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let width = args.size("width")?.unwrap_or(79).max(1);
    let break_long = args.flag("break_long_words", true)?;
    let hyphens = args.flag("break_on_hyphens", true)?;
    let separator = args.text("wrapstring")?.unwrap_or_else(|| "\n".to_owned());
    let lines = text
        .lines()
        .flat_map(|line| match wrapped(line, width, break_long, hyphens) {
            lines if lines.is_empty() => vec![String::new()],
            lines => lines,
        });
    let lines: List = lines.map(Value::from).collect();
    Ok(joined(&lines, &separator)?.into())
}

/// Wraps a paragraph and returns its lines.
fn wrapped(text: &str, width: usize, break_long: bool, hyphens: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line: Vec<&str> = Vec::new();
    let mut length = 0;
    let is_space = |chunk: &&str| chunk.starts_with(char::is_whitespace);
    for chunk in chunks(text, hyphens) {
        let mut chunk = chunk;
        loop {
            let own = chunk.chars().count();
            let begins = line.is_empty();
            if begins && is_space(&chunk) && !lines.is_empty() {
                break;
            }
            if length + own <= width {
                line.push(chunk);
                length += own;
                break;
            }
            if own > width && (break_long || begins) {
                let room = if break_long {
                    width - length.min(width)
                } else {
                    own
                };
                let at = chunk
                    .char_indices()
                    .nth(room)
                    .map_or(chunk.len(), |(at, _)| at);
                let (head, tail) = chunk.split_at(at);
                if !head.is_empty() {
                    line.push(head);
                }
                chunk = tail;
            }
            while line.last().is_some_and(is_space) {
                line.pop();
            }
            if !line.is_empty() {
                lines.push(line.concat());
            }
            line.clear();
            length = 0;
            if chunk.is_empty() {
                break;
            }
        }
    }
    while line.last().is_some_and(is_space) {
        line.pop();
    }
    if !line.is_empty() {
        lines.push(line.concat());
    }
    lines
}

/// Splits a text into words, the spaces between them, and the parts of hyphenated words.
fn chunks(text: &str, hyphens: bool) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut start = 0;
    let mut last: Option<char> = None;
    for (at, character) in text.char_indices() {
        let changes = last.is_some_and(|last| {
            last.is_whitespace() != character.is_whitespace()
                || (hyphens
                    && last == '-'
                    && character.is_alphabetic()
                    && text[start..at]
                        .chars()
                        .rev()
                        .nth(1)
                        .is_some_and(char::is_alphabetic))
        });
        if changes {
            chunks.push(&text[start..at]);
            start = at;
        }
        last = Some(character);
    }
    if start < text.len() {
        chunks.push(&text[start..]);
    }
    chunks
}
