//! The function `portspec`: port mappings such as `80:8080/tcp`, parsed into a map and written back as text.

use std::sync::Arc;

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::value::{External, ExternalKind, Map, Value};

use super::call::FunctionCall;

const PARTS: [&str; 5] = [
    "protocol",
    "source",
    "source_range",
    "target",
    "target_range",
];

pub(super) fn portspec(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let argument = call.value()?;
    let mut parts = match argument.reveal() {
        Value::Int(port) => {
            let port = Value::Int(*port);
            Map::from_iter([
                ("source".into(), port.clone()),
                ("target".into(), port),
                ("protocol".into(), "tcp".into()),
            ])
        }
        Value::Map(map) => Map::clone(map),
        Value::Str(text) if !text.is_empty() => parse(call, text)?,
        other if !other.is_truthy() => return Ok(LazyValue::Value(Value::Null)),
        other => {
            return Err(call.fail(format!(
                "takes a port, a text or a map, not {}",
                other.kind()
            )));
        }
    };
    for part in PARTS {
        parts.entry(part.into()).or_default();
    }
    let text = port_spec(&parts);
    let mut named_parts = parts.clone();
    named_parts.insert("spec".into(), text.into());
    Ok(LazyValue::Value(Value::External(Arc::new(External {
        kind: ExternalKind::Other,
        value: Value::from(parts),
        parts: named_parts,
        expression: Value::Null,
        digest: None,
        exact: None,
    }))))
}

fn parse(call: &FunctionCall<'_>, text: &str) -> Result<Map, Error> {
    let (ports, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let (source, target) = ports.split_once(':').unwrap_or((ports, ports));
    let target = if target.is_empty() { source } else { target };
    let port = |text: &str| {
        let port = text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let problem = || call.fail(format!("`{text}` is not a port"));
        port.map(|port| Value::Int(port.into())).ok_or_else(problem)
    };
    let mut parts = Map::new();
    parts.insert("protocol".into(), protocol.into());
    for (name, text) in [("source", source), ("target", target)] {
        match text.split_once('-') {
            Some((from, to)) => {
                let text = |end: &str| port(end).map(|_| Value::from(end.trim()));
                let range = Value::list([text(from)?, text(to)?]);
                parts.insert(format!("{name}_range").into(), range);
            }
            None => {
                parts.insert(name.into(), port(text)?);
            }
        }
    }
    Ok(parts)
}

/// Returns the short form of a port specification, `target:source/protocol`, as container options take it.
pub fn port_spec(parts: &Map) -> String {
    let side = |name: &str| {
        let range = parts
            .get(format!("{name}_range").as_str())
            .and_then(Value::as_list);
        match range.map(Vec::as_slice) {
            Some([from, to]) => format!("{from}-{to}"),
            _ => parts
                .get(name)
                .filter(|port| !port.is_null())
                .map_or_else(String::new, Value::to_string),
        }
    };
    let (source, target) = (side("source"), side("target"));
    let mut text = if source == target || target.is_empty() {
        source
    } else {
        format!("{target}:{source}")
    };
    let protocol = parts
        .get("protocol")
        .and_then(Value::as_str)
        .unwrap_or("tcp");
    if protocol != "tcp" {
        text = format!("{text}/{protocol}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(parts: &[(&str, Value)]) -> String {
        let parts = parts
            .iter()
            .map(|(name, part)| ((*name).into(), part.clone()));
        port_spec(&parts.collect())
    }

    #[test]
    fn a_port_specification_is_one_text() {
        let port = |port: i64| Value::Int(port);
        assert_eq!(spec(&[("source", port(80)), ("target", port(80))]), "80");
        assert_eq!(
            spec(&[("source", port(80)), ("target", port(8080))]),
            "8080:80"
        );
        assert_eq!(
            spec(&[("source", port(53)), ("protocol", "udp".into())]),
            "53/udp"
        );
        let range = Value::list([port(1), port(9)]);
        assert_eq!(
            spec(&[("source_range", range), ("target", Value::Null)]),
            "1-9"
        );
    }
}
