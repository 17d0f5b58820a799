//! Methods of Python's texts and lists that the template engine does not provide.

use minijinja::value::{Kwargs, Tuple, Value as JinjaValue, ValueKind, from_args};
use minijinja::{Error as JinjaError, ErrorKind, State};

use crate::value::Value;

use super::error::{Result, filter_error};
use super::limits;
use super::text::words;
use super::text_layout::{centered, joined, replaced};
use super::variables::Variables;

/// The maximum number of digits of a width in `str.format`.
const MAX_WIDTH_DIGITS: usize = 6;

/// Calls a Python method of a value.
pub(super) fn call(
    state: &mut State<'_, '_>,
    value: &JinjaValue,
    method: &str,
    args: &[JinjaValue],
) -> Result<JinjaValue> {
    let own = match value.kind() {
        ValueKind::String => text_method(state, value.as_str().unwrap_or_default(), method, args)?,
        ValueKind::Seq => list_method(value, method, args)?,
        _ => None,
    };
    match own {
        Some(answer) => Ok(answer),
        None => minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn list_method(
    value: &JinjaValue,
    method: &str,
    args: &[JinjaValue],
) -> Result<Option<JinjaValue>> {
    Ok(match (method, args) {
        ("index", [item]) => {
            let place = value.try_iter()?.position(|own| own == *item);
            Some(
                place
                    .ok_or_else(|| filter_error("the item is not in the list"))?
                    .into(),
            )
        }
        ("copy", []) => Some(value.clone()),
        ("append" | "extend" | "insert" | "pop" | "remove" | "sort" | "reverse" | "clear", _) => {
            let problem = format!(
                "lists cannot be changed, so there is no `{method}`; create a new list with `+`"
            );
            return Err(JinjaError::new(ErrorKind::UnknownMethod, problem));
        }
        _ => None,
    })
}

fn text_method(
    state: &State<'_, '_>,
    text: &str,
    method: &str,
    args: &[JinjaValue],
) -> Result<Option<JinjaValue>> {
    let word = |place: usize| args.get(place).and_then(JinjaValue::as_str);
    let width = || {
        args.first()
            .and_then(JinjaValue::as_usize)
            .unwrap_or_default()
    };
    let fill = || word(1).and_then(|fill| fill.chars().next()).unwrap_or(' ');
    let first = word(0).unwrap_or_default();
    Ok(Some(match method {
        "ljust" | "rjust" | "center" | "zfill" => aligned(text, method, width(), fill())?.into(),
        "partition" | "rpartition" => partitioned(text, method, first),
        "split" | "rsplit" => return split(text, method, args),
        "index" | "rindex" => index(text, method, first)?.into(),
        "swapcase" => swapcase(text).into(),
        "casefold" => text.to_lowercase().into(),
        "removeprefix" => text.strip_prefix(first).unwrap_or(text).into(),
        "removesuffix" => text.strip_suffix(first).unwrap_or(text).into(),
        "encode" | "decode" => text.into(),
        "isdecimal" => (!text.is_empty() && text.chars().all(|c| c.is_ascii_digit())).into(),
        "isidentifier" => {
            let word = text.chars().all(|c| c.is_alphanumeric() || c == '_');
            (word && !text.is_empty() && !text.starts_with(|c: char| c.is_numeric())).into()
        }
        "expandtabs" => {
            let width = if args.is_empty() { 8 } else { width().min(100) };
            expanded(text, width)?.into()
        }
        "replace" => {
            let count = args.get(2).and_then(JinjaValue::as_usize);
            replaced(text, first, word(1).unwrap_or_default(), count)?.into()
        }
        "join" => return join(state, text, args),
        "format" => {
            check_widths(text)?;
            return Ok(None);
        }
        _ => return Ok(None),
    }))
}

/// Splits a text at a separator into three parts, as `partition` and `rpartition` do.
fn partitioned(text: &str, method: &str, separator: &str) -> JinjaValue {
    let found = if method == "partition" {
        text.split_once(separator)
    } else {
        text.rsplit_once(separator)
    };
    let parts = match (found, method) {
        (Some((head, tail)), _) => vec![head, separator, tail],
        (None, "partition") => vec![text, "", ""],
        (None, _) => vec!["", "", text],
    }
    .into_iter()
    .map(JinjaValue::from)
    .collect::<Vec<_>>();
    JinjaValue::from(Tuple::from(parts))
}

/// Splits a text as `split` and `rsplit` do. None if the engine's own method handles the arguments.
fn split(text: &str, method: &str, args: &[JinjaValue]) -> Result<Option<JinjaValue>> {
    let (separator, max_parts): (Option<Option<String>>, Option<i64>) = split_args(args)?;
    let max_parts = max_parts.and_then(|max_parts| usize::try_from(max_parts).ok());
    let max_parts = max_parts.map_or(usize::MAX, |max_parts| max_parts.saturating_add(1));
    let parts: Vec<String> = match (separator.flatten(), method) {
        (Some(separator), _) if separator.is_empty() => {
            return Err(filter_error("the separator is empty"));
        }
        (Some(separator), "split") => text
            .splitn(max_parts, &*separator)
            .map(str::to_owned)
            .collect(),
        (Some(separator), _) => {
            let mut parts: Vec<String> = text
                .rsplitn(max_parts, &*separator)
                .map(str::to_owned)
                .collect();
            parts.reverse();
            parts
        }
        (None, "split") => words(text, max_parts)
            .iter()
            .map(Value::to_string)
            .collect(),
        (None, _) if max_parts == usize::MAX => {
            text.split_whitespace().map(str::to_owned).collect()
        }
        (None, _) => return Ok(None),
    };
    Ok(Some(parts.into()))
}

/// Replaces each tab by spaces up to the next column that is a multiple of the width.
fn expanded(text: &str, width: usize) -> Result<String> {
    limits::check_text_length(text.len().saturating_mul(width.max(1)))?;
    let mut expanded = String::new();
    let mut column = 0;
    for character in text.chars() {
        match character {
            '\t' => {
                let blanks = if width == 0 {
                    0
                } else {
                    width - column % width
                };
                expanded.push_str(&" ".repeat(blanks));
                column += blanks;
            }
            _ => {
                expanded.push(character);
                column = if matches!(character, '\n' | '\r') {
                    0
                } else {
                    column + 1
                };
            }
        }
    }
    Ok(expanded)
}

/// Returns the index of a text in another, in characters.
fn index(text: &str, method: &str, needle: &str) -> Result<usize> {
    let at = if method == "index" {
        text.find(needle)
    } else {
        text.rfind(needle)
    };
    let at = at.ok_or_else(|| filter_error(format!("`{needle}` is not in `{text}`")))?;
    Ok(text[..at].chars().count())
}

fn swapcase(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_uppercase() {
                c.to_lowercase().collect::<Vec<_>>()
            } else {
                c.to_uppercase().collect()
            }
        })
        .collect()
}

/// Joins the items of a list with a text. None if the argument is not a list.
fn join(state: &State<'_, '_>, text: &str, args: &[JinjaValue]) -> Result<Option<JinjaValue>> {
    let variables = Variables::from_state(state)?;
    let items = args
        .first()
        .map(|items| variables.revealed_value(items))
        .transpose()?
        .unwrap_or_default();
    let Some(items) = items.as_list() else {
        return Ok(None);
    };
    Ok(Some(joined(items, text)?.into()))
}

/// Returns an error if a format has a width that would exhaust the memory.
fn check_widths(format: &str) -> Result<()> {
    let mut digits = 0;
    for character in format.chars() {
        digits = if character.is_ascii_digit() {
            digits + 1
        } else {
            0
        };
        if digits > MAX_WIDTH_DIGITS {
            return Err(filter_error("the text would be too long"));
        }
    }
    Ok(())
}

#[expect(clippy::option_option, reason = "not given, or given as none")]
fn split_args(args: &[JinjaValue]) -> Result<(Option<Option<String>>, Option<i64>)> {
    let (separator, max_parts, names): (Option<Option<String>>, Option<i64>, Kwargs) =
        from_args(args)?;
    let separator = separator.or(names.get::<Option<Option<String>>>("sep")?);
    let max_parts = max_parts.or(names.get::<Option<i64>>("maxsplit")?);
    names.assert_all_used()?;
    Ok((separator, max_parts))
}

fn aligned(text: &str, method: &str, width: usize, fill: char) -> Result<String> {
    limits::check_text_length(width)?;
    let missing = width.saturating_sub(text.chars().count());
    let side = |fill: char| fill.to_string().repeat(missing);
    Ok(match method {
        "ljust" => format!("{text}{}", side(fill)),
        "rjust" => format!("{}{text}", side(fill)),
        "center" => centered(text, width, fill)?,
        _ => {
            let digits = text.trim_start_matches(['+', '-']);
            let sign = &text[..text.len() - digits.len()];
            format!("{sign}{}{digits}", side('0'))
        }
    })
}
