//! Slots: arguments that are evaluated just before a state runs, written as
//! `__slot__:salt:module.function(arguments).key ~ "suffix"` (S39).

use std::sync::Arc;

use super::execution_modules::{ExecutionCall, call_execution, traverse};
use super::{FactCache, Halt, ModuleContext};
use crate::value::{Map, Value};

const SLOT_PREFIX: &str = "__slot__:";

/// Whether any argument contains a slot.
pub(crate) fn has_slots(args: &Map) -> bool {
    let is_in_value = |value: &Value| value.as_str().is_some_and(is_slot);
    let in_map = |map: &Map| map.values().any(is_in_value);
    args.values().any(|value| match value.reveal() {
        Value::Map(map) => in_map(map),
        Value::List(items) => items.iter().any(|item| match item.reveal() {
            Value::Map(map) => in_map(map),
            other => is_in_value(other),
        }),
        other => is_in_value(other),
    })
}

/// Evaluates the slots in arguments: in texts, in the values of maps, and in both within lists.
pub(crate) fn fill_slots(
    args: &Map,
    context: &ModuleContext,
    facts: &FactCache,
) -> Result<Map, Halt> {
    let text = |value: &Value| -> Result<Value, Halt> {
        match value.as_str() {
            Some(text) if is_slot(text) => evaluate_slot(text, context, facts),
            _ => Ok(value.clone()),
        }
    };
    let map = |map: &Map| -> Result<Value, Halt> {
        let filled: Result<Map, Halt> = map
            .iter()
            .map(|(key, value)| Ok((Arc::clone(key), text(value)?)))
            .collect();
        Ok(filled?.into())
    };
    let fill = |value: &Value| -> Result<Value, Halt> {
        match value.reveal() {
            Value::Map(inner) => map(inner),
            Value::List(items) => {
                let items: Result<Vec<Value>, Halt> = items
                    .iter()
                    .map(|item| match item.reveal() {
                        Value::Map(inner) => map(inner),
                        _ => text(item),
                    })
                    .collect();
                Ok(items?.into())
            }
            _ => text(value),
        }
    };
    args.iter()
        .map(|(key, value)| Ok((Arc::clone(key), fill(value)?)))
        .collect()
}

/// Returns true for a text that is a slot.
pub(crate) fn is_slot(text: &str) -> bool {
    text.starts_with(SLOT_PREFIX)
}

/// Evaluates the slot that stands for the name of a state.
pub(crate) fn fill_name(
    name: &str,
    context: &ModuleContext,
    facts: &FactCache,
) -> Result<Arc<str>, Halt> {
    let value = evaluate_slot(name, context, facts)?;
    Ok(value.redacted().to_string().into())
}

/// Evaluates one slot. A text that is not a valid slot stays unchanged.
fn evaluate_slot(text: &str, context: &ModuleContext, facts: &FactCache) -> Result<Value, Halt> {
    let Some(spec) = text.strip_prefix("__slot__:salt:") else {
        return Ok(text.into());
    };
    let Some(parsed) = parse_slot(spec) else {
        return Ok(text.into());
    };
    let call = ExecutionCall {
        fun: &parsed.fun,
        args: &parsed.args,
        named: &parsed.named,
        context,
        facts,
    };
    let Some(answer) = call_execution(&call) else {
        return Ok(text.into());
    };
    let mut answer = answer?;
    if let Some((_, path)) = parsed.path.split_once('.') {
        answer = traverse(&answer, path.trim(), ".").unwrap_or_default();
    }
    match (&parsed.suffix, answer.reveal()) {
        (Some(suffix), Value::Str(start)) => {
            let whole = Value::str(format!("{start}{suffix}"));
            Ok(whole.sensitive_if(answer.has_sensitive()))
        }
        _ => Ok(answer),
    }
}

/// A parsed slot: the call, the path into its result, and the suffix.
#[derive(Debug, Default, PartialEq)]
struct SlotCall {
    fun: String,
    args: Vec<Value>,
    named: Map,
    /// The path behind the parentheses, such as `.key.inner`.
    path: String,
    suffix: Option<String>,
}

/// Parses the call of a slot. Arguments may be quoted; white space outside of quotes is ignored.
#[expect(
    clippy::match_same_arms,
    reason = "the order of the cases says what a quote does"
)]
fn parse_slot(spec: &str) -> Option<SlotCall> {
    let (fun, rest) = spec.split_once('(')?;
    let fun: String = fun.chars().filter(|it| !it.is_whitespace()).collect();
    let mut parsed = SlotCall {
        fun,
        ..SlotCall::default()
    };
    let mut word = String::new();
    let mut key: Option<String> = None;
    let mut is_word = false;
    let mut open: Vec<char> = Vec::new();
    let mut quote: Option<char> = None;
    let mut chars = rest.char_indices();
    while let Some((at, it)) = chars.next() {
        match (quote, it) {
            (_, '\\') => word.extend(chars.next().map(|(_, next)| next)),
            (Some(mark), _) if it == mark => quote = None,
            (Some(_), _) => word.push(it),
            (None, '"' | '\'') => {
                quote = Some(it);
                is_word = true;
            }
            (None, ',' | ')') if open.is_empty() => {
                if let Some(key) = key.take() {
                    parsed
                        .named
                        .insert(key.into(), std::mem::take(&mut word).into());
                } else if is_word || !word.is_empty() {
                    parsed.args.push(std::mem::take(&mut word).into());
                }
                is_word = false;
                if it == ')' {
                    let after = &rest[at + 1..];
                    let (path, suffix) = after
                        .split_once('~')
                        .map_or((after, None), |(path, suffix)| (path, Some(suffix)));
                    path.trim().clone_into(&mut parsed.path);
                    parsed.suffix = suffix.map(|it| unquoted(it.trim()).to_owned());
                    return (!parsed.fun.is_empty()).then_some(parsed);
                }
            }
            (None, '=') if open.is_empty() => key = Some(std::mem::take(&mut word)),
            (None, '[' | '{' | '(') => {
                open.push(it);
                word.push(it);
            }
            (None, ']' | '}' | ')') => {
                open.pop()?;
                word.push(it);
            }
            (None, _) if it.is_whitespace() => {}
            (None, _) => word.push(it),
        }
    }
    None
}

fn unquoted(text: &str) -> &str {
    ['"', '\'']
        .iter()
        .find_map(|mark| text.strip_prefix(*mark)?.strip_suffix(*mark))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_with_quotes_names_path_and_suffix() {
        let parsed = parse_slot(r#"test.arg("a, b", c, kw='d (e)').kwargs.kw ~ " end""#).unwrap();
        assert_eq!(parsed.fun, "test.arg");
        assert_eq!(parsed.args, ["a, b".into(), "c".into()]);
        assert_eq!(parsed.named.get("kw"), Some(&"d (e)".into()));
        assert_eq!(parsed.path, ".kwargs.kw");
        assert_eq!(parsed.suffix.as_deref(), Some(" end"));
    }

    #[test]
    fn a_suffix_of_a_file_name_is_no_quote() {
        let parsed = parse_slot("test.echo(/srv) ~ /www").unwrap();
        assert_eq!(parsed.args, ["/srv".into()]);
        assert_eq!(parsed.suffix.as_deref(), Some("/www"));
        assert_eq!(unquoted("\""), "\"");
    }

    #[test]
    fn what_does_not_end_is_no_call() {
        assert_eq!(parse_slot("test.echo(a"), None);
        assert_eq!(parse_slot("test.echo"), None);
        assert_eq!(parse_slot("(a)"), None);
        assert_eq!(parse_slot("test.echo(a]b)"), None);
        assert_eq!(parse_slot("test.echo(é\\"), None);
    }
}
