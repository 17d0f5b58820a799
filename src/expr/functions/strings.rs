//! The functions `concat`, `token`, `urljoin` and the `to_label` family.

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::value::{Value, encode_percent};

use super::call::FunctionCall;
use super::label::{LabelRules, to_label};

pub(super) fn concat(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let value = call.value()?;
    let Some(items) = value.as_list() else {
        return Ok(LazyValue::Value(value));
    };
    let separator = call.text("sep")?.unwrap_or_default();
    let texts: Vec<_> = items.iter().map(|item| item.reveal().to_string()).collect();
    Ok(LazyValue::Value(texts.join(&separator).into()))
}

pub(super) fn token(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let args = call.values()?;
    let parts = match args.as_slice() {
        [text, separator, place] => (text.as_str(), separator.as_str(), place.as_int()),
        _ => (None, None, None),
    };
    let (Some(text), Some(separator), Some(index)) = parts else {
        return Err(call.fail("takes a text, a separator and the index of a part"));
    };
    if separator.is_empty() {
        return Err(call.fail("the separator is empty"));
    }
    let parts: Vec<_> = text.split(separator).collect();
    let count = i64::try_from(parts.len()).unwrap_or(i64::MAX);
    let place = if index < 0 { index + count } else { index };
    let part = usize::try_from(place)
        .ok()
        .and_then(|place| parts.get(place));
    part.map(|part| LazyValue::Value((*part).into()))
        .ok_or_else(|| {
            call.fail(format!(
                "the text has no part {place}; the number of parts is {count}"
            ))
        })
}

pub(super) fn urljoin(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let args = call.values()?;
    let part = |place: usize| {
        let value: Option<&Value> = args.get(place);
        value
            .filter(|value| value.is_truthy())
            .map(|value| value.reveal().to_string())
    };
    let (scheme, host, port) = (part(0), part(1), part(2));
    let (path, query, fragment) = (part(3), part(4), part(5));
    if [&scheme, &host, &path, &query, &fragment]
        .iter()
        .all(|part| part.is_none())
    {
        return Ok(LazyValue::Value(Value::Null));
    }
    let scheme = scheme.unwrap_or_default();
    let is_default = matches!(
        (scheme.as_str(), port.as_deref()),
        ("https", Some("443")) | ("http", Some("80"))
    );
    let host = host.unwrap_or_default();
    let place = match port {
        Some(port) if !is_default => format!("{host}:{port}"),
        _ => host,
    };
    let mut url = String::new();
    if !scheme.is_empty() {
        url = scheme + ":";
    }
    if !place.is_empty() {
        url.push_str("//");
        url.push_str(&place);
    }
    if let Some(path) = path {
        if !place.is_empty() && !path.starts_with('/') {
            url.push('/');
        }
        url += &encode_percent(&path, b"/");
    }
    if let Some(query) = query {
        url.push('?');
        url.push_str(&encode_percent(&query, b" ").replace(' ', "+"));
    }
    if let Some(fragment) = fragment {
        url.push('#');
        url.push_str(&encode_percent(&fragment, b"/"));
    }
    Ok(LazyValue::Value(url.into()))
}

pub(super) fn label(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let value = match call.value()? {
        Value::List(items) => Value::list(items.iter().flat_map(|item| match item {
            Value::List(items) => items.to_vec(),
            other => vec![other.clone()],
        })),
        other => other,
    };
    let mut style = LabelRules::for_function(call.name);
    for name in LabelRules::OPTIONS {
        if let Some(option) = call.option(name)? {
            style.set(name, &option);
        }
    }
    to_label(&value, &style)
        .map(LazyValue::Value)
        .map_err(|problem| call.fail(problem))
}
