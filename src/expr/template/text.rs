//! Filters on text and numbers: `quote`, `split`, `bool`, `int`, `human_readable`, `urlsplit`, `comment`,
//! `ternary` and others.

use std::f64::consts::E;

use minijinja::value::Value as JinjaValue;

use crate::text::shlex_quote;
use crate::value::Value;

use super::arguments::{FilterArguments, FilterTable, VARIADIC};
use super::error::Result;
use super::{limits, percent_format};

const COMMENT: &[&str] = &[
    "style",
    "newline",
    "beginning",
    "prefix",
    "prefix_count",
    "decoration",
    "postfix",
    "postfix_count",
    "end",
];
const DEFAULT: &[&str] = &["default_value", "boolean"];
const TERNARY: &[&str] = &["true_val", "false_val", "none_val"];
const HUMAN: &[&str] = &["default_unit", "isbits"];

/// The filters on texts and numbers.
pub(super) const FILTERS: FilterTable = &[
    ("quote", &[], quote),
    ("split", &["sep", "maxsplit"], split),
    ("bool", &[], to_bool),
    ("urlsplit", &["query"], urlsplit),
    ("comment", COMMENT, comment),
    ("type_debug", &[], type_debug),
    ("mandatory", &["msg"], mandatory),
    ("default", DEFAULT, default),
    ("d", DEFAULT, default),
    ("ternary", TERNARY, ternary),
    ("undef", &[VARIADIC], |args| {
        Err(args.fail("must be called as a function: `undef(hint='…')`"))
    }),
    ("int", &["default", "base"], to_int),
    ("float", &["default"], to_float),
    ("human_to_bytes", HUMAN, human_to_bytes),
    ("human_readable", &["isbits", "unit"], human_readable),
    ("pow", &["y"], |args| powers(args, "y", 1.0, f64::powf)),
    ("root", &["base"], |args| {
        powers(args, "base", 2.0, |value, base| {
            value.powf(1.0 / base).snap_to_integer()
        })
    }),
    ("log", &["base"], |args| powers(args, "base", E, logarithm)),
];

fn logarithm(value: f64, base: f64) -> f64 {
    match base {
        2.0 => value.log2(),
        10.0 => value.log10(),
        E => value.ln(),
        base => value.ln() / base.ln(),
    }
}

trait SnapToInteger {
    fn snap_to_integer(self) -> Self;
}

impl SnapToInteger for f64 {
    /// Rounds a number that is within rounding errors of an integer, so that the root of a square number is
    /// an integer.
    fn snap_to_integer(self) -> Self {
        let near = self.round();
        if (self - near).abs() < near.abs() * 4.0 * Self::EPSILON {
            near
        } else {
            self
        }
    }
}

fn powers(
    args: &FilterArguments<'_>,
    parameter: &str,
    usual: f64,
    of: fn(f64, f64) -> f64,
) -> Result<JinjaValue> {
    let number = |value: &Value| {
        percent_format::float(value)
            .ok_or_else(|| args.fail(format!("takes numbers, not {}", value.kind())))
    };
    let other = args
        .get(parameter)?
        .map_or(Ok(usual), |other| number(&other))?;
    let power = of(number(&args.subject()?)?, other);
    if power.is_finite() {
        Ok(power.into())
    } else {
        Err(args.fail("the result is not a finite number"))
    }
}

fn quote(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    Ok(match args.subject()? {
        Value::Null => "''".into(),
        value => shlex_quote(&value.to_string()).into(),
    })
}

fn split(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let max_parts = args
        .int("maxsplit")?
        .and_then(|max_parts| usize::try_from(max_parts).ok());
    let max_parts = max_parts.map_or(usize::MAX, |max_parts| max_parts.saturating_add(1));
    let parts: Vec<Value> = match args.text("sep")? {
        Some(separator) if separator.is_empty() => return Err(args.fail("the separator is empty")),
        Some(separator) => text
            .splitn(max_parts, &*separator)
            .map(Value::from)
            .collect(),
        None => words(&text, max_parts),
    };
    args.engine_list(parts)
}

/// Splits a text at white space into at most `max_parts` words; the last word is the remaining text.
pub(super) fn words(text: &str, max_parts: usize) -> Vec<Value> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if words.len() + 1 >= max_parts {
            words.push(rest.into());
            break;
        }
        words.push(rest[..end].into());
        rest = rest[end..].trim_start();
    }
    words
}

fn to_bool(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let value = args.subject()?;
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

fn to_int(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let value = args.subject()?;
    let base = args.int("base")?.and_then(|base| u32::try_from(base).ok());
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
    Ok(number.map_or_else(|| or_default(args, 0), JinjaValue::from))
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn truncated(float: f64) -> Option<i64> {
    (float.abs() < 9.2e18).then_some(float as i64)
}

fn to_float(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let value = args.subject()?;
    let number = match &value {
        Value::Str(text) => text.trim().replace('_', "").parse().ok(),
        other => percent_format::float(other),
    };
    Ok(number.map_or_else(|| or_default(args, 0.0), JinjaValue::from))
}

/// Returns the argument `default`, or the usual value, for a text that is not a number.
fn or_default(args: &FilterArguments<'_>, fallback: impl Into<JinjaValue>) -> JinjaValue {
    let supplied = args.raw("default").cloned();
    supplied.unwrap_or_else(|| fallback.into())
}

const SIZES: &str = "KMGTPEZY";

/// Returns the power of 1024 that the first letter of a unit stands for.
fn power_of(unit: &str) -> Option<i32> {
    match unit.chars().next().map(|unit| unit.to_ascii_uppercase()) {
        None | Some('B') => Some(0),
        Some(unit) => Some(i32::try_from(SIZES.find(unit)?).ok()? + 1),
    }
}

fn human_to_bytes(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let wrong = || args.fail(format!("`{text}` is not a size such as `10 MB`"));
    let number: f64 = text[..end].parse().map_err(|_| wrong())?;
    let unit = match text[end..].trim() {
        "" => args.text("default_unit")?.unwrap_or_default(),
        unit => unit.to_owned(),
    };
    let is_bits = args.flag("isbits", false)?;
    let rest = unit.get(1..).unwrap_or_default().to_lowercase();
    let whole = ["b", "bytes", "bits"].contains(&&*unit.to_lowercase());
    let known: &[&str] = if is_bits {
        &["", "b", "bit", "bits"]
    } else {
        &["", "b", "byte", "bytes"]
    };
    let small = whole || known.contains(&&*rest);
    let power = power_of(&unit).filter(|_| small).ok_or_else(wrong)?;
    let bytes = (number * 1024f64.powi(power)).round_ties_even();
    Ok(truncated(bytes).unwrap_or(i64::MAX).into())
}

fn human_readable(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let subject = args.subject()?;
    let size = match &subject {
        Value::Str(text) => text.trim().parse().ok(),
        other => percent_format::float(other),
    };
    let size = size.ok_or_else(|| args.fail(format!("`{subject}` is not a number")))?;
    let is_bits = args.flag("isbits", false)?;
    let (base, small) = if is_bits {
        ("bits", "b")
    } else {
        ("Bytes", "B")
    };
    let power = match args.text("unit")? {
        Some(unit) => {
            let power = power_of(&unit);
            power.ok_or_else(|| args.fail(format!("`{unit}` is not a unit of size")))?
        }
        None => (1..=8)
            .rev()
            .find(|power| size >= 1024f64.powi(*power))
            .unwrap_or(0),
    };
    let unit = match usize::try_from(power - 1)
        .ok()
        .and_then(|place| SIZES.chars().nth(place))
    {
        Some(letter) => format!("{letter}{small}"),
        None => base.to_owned(),
    };
    Ok(format!("{:.2} {unit}", size / 1024f64.powi(power)).into())
}

fn urlsplit(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let url = args.subject_text()?;
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
    match args.text("query")?.filter(|query| !query.is_empty()) {
        Some(name) => {
            let part = parts.get(&name).cloned();
            args.engine_value(part.ok_or_else(|| args.fail(format!("URLs have no part `{name}`")))?)
        }
        None => args.engine_value(parts),
    }
}

/// Formats a text as a comment in the style of a language.
fn comment(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let text = args.subject_text()?;
    let style = args.text("style")?;
    let (beginning, prefix, decoration, end) = match style.as_deref().unwrap_or("plain") {
        "plain" => ("", None, "# ", ""),
        "erlang" => ("", None, "% ", ""),
        "c" => ("", None, "// ", ""),
        "cblock" => ("/*", Some(" *"), " * ", " */"),
        "xml" => ("<!--", Some(" -"), " - ", "-->"),
        other => return Err(args.fail(format!("the comment style `{other}` is not known"))),
    };
    let supplied = |name: &str, usual: &str| -> Result<String> {
        Ok(args.text(name)?.unwrap_or_else(|| usual.to_owned()))
    };
    let newline = supplied("newline", "\n")?;
    let decoration = supplied("decoration", decoration)?;
    let usual = match prefix {
        Some(prefix) => prefix.to_owned(),
        None => decoration.trim_end().to_owned(),
    };
    let (prefix, postfix) = (supplied("prefix", &usual)?, supplied("postfix", &usual)?);
    let (before, after) = (
        args.size("prefix_count")?.unwrap_or(1),
        args.size("postfix_count")?.unwrap_or(1),
    );
    limits::check_text_length(before.saturating_mul(prefix.len() + newline.len()))?;
    limits::check_text_length(after.saturating_mul(postfix.len() + newline.len()))?;
    let (beginning, end) = (supplied("beginning", beginning)?, supplied("end", end)?);
    let mut lines: Vec<String> = Vec::new();
    if !beginning.is_empty() {
        lines.push(beginning);
    }
    lines.extend(std::iter::repeat_n(prefix, before));
    let line = |line: &str| format!("{decoration}{line}").trim_end().to_owned();
    lines.extend(text.split(&*newline).map(line));
    lines.extend(std::iter::repeat_n(postfix, after));
    if !end.is_empty() {
        lines.push(end);
    }
    Ok(lines.join(&newline).into())
}

fn type_debug(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    Ok(match args.subject()? {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Big(_) => "int",
        Value::Float(_) => "float",
        Value::List(_) => "list",
        Value::Map(_) => "dict",
        _ => "str",
    }
    .into())
}

fn mandatory(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    if args.subject.is_undefined() {
        let message = args.text("msg")?;
        return Err(
            args.fail(message.unwrap_or_else(|| "a mandatory variable is not defined".to_owned()))
        );
    }
    Ok(args.subject.clone())
}

fn default(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let missing = args.subject.is_undefined();
    if missing || (args.flag("boolean", false)? && !args.subject.is_true()) {
        return Ok(args
            .raw("default_value")
            .cloned()
            .unwrap_or_else(|| "".into()));
    }
    Ok(args.subject.clone())
}

fn ternary(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let name = match (args.subject.is_none(), args.raw("none_val")) {
        (true, Some(_)) => "none_val",
        _ if args.subject.is_true() => "true_val",
        _ => "false_val",
    };
    let chosen = args.raw(name).cloned();
    chosen.ok_or_else(|| args.fail("takes two or three values"))
}
