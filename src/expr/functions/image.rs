//! The function `container_image`, which splits the name of a container image into its parts.

use std::sync::Arc;

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::value::{External, ExternalKind, Map, Value};

use super::call::FunctionCall;

pub(super) fn container_image(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let name = call.value()?;
    if name.is_null() {
        return Ok(LazyValue::Value(Value::Null));
    }
    Ok(LazyValue::Value(parse_image(
        call.require_text(&name, "the name of an image")?,
    )))
}

/// Parses the name of an image, such as `registry.example.com:5000/team/app:1.0`. An empty name gives null.
pub(super) fn parse_image(text: &str) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    let (host, path) = match text.split_once('/') {
        Some((host, path)) if host.contains(':') || text.matches('/').count() > 1 => {
            (Some(host), path)
        }
        _ => (None, text),
    };
    let (path, digest) = match path.split_once('@') {
        Some((path, digest)) => (path, Some(digest)),
        None => (path, None),
    };
    let (path, tag) = match path.split_once(':').filter(|_| digest.is_none()) {
        Some((path, tag)) => (path, Some(tag)),
        None => (path, None),
    };
    let path = path.trim_start_matches('/').to_lowercase();
    let mut name = host.map_or_else(|| path.clone(), |host| format!("{host}/{path}"));
    if let Some(tag) = tag.filter(|tag| !tag.is_empty()) {
        name = format!("{name}:{tag}");
    } else if let Some(digest) = digest.filter(|digest| !digest.is_empty()) {
        let prefix = if digest.starts_with("sha256:") {
            "@"
        } else {
            "@sha256:"
        };
        name = format!("{name}{prefix}{digest}");
    }
    let parts = [
        ("name", Some(path.as_str())),
        ("tag", tag),
        ("digest", digest),
        ("registry_host", host),
    ];
    let parts = parts
        .into_iter()
        .map(|(key, part)| (key.into(), part.into()));
    let stands_for = match digest {
        Some(digest) => digest.into(),
        None => Value::list([Value::Null, name.as_str().into()]),
    };
    let name = Value::from(name);
    let call = Value::map([("container_image", name.clone())]);
    Value::External(Arc::new(External {
        kind: ExternalKind::Image,
        value: name,
        parts: parts.collect::<Map>(),
        expression: Value::map([("eval", call)]),
        digest: Some(stands_for),
        exact: None,
    }))
}
