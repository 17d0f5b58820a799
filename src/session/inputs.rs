//! The inputs of a topology: which are given, where, and which go before which.

use std::collections::HashMap;
use std::sync::Arc;

use super::options::SessionOptions;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::ensemble::Manifest;
use crate::project::Environment;
use crate::tosca::ServiceTemplate;
use crate::value::{Map, Value};
use crate::yaml::{self, Limits, Node};

/// The inputs of the topology: `--var input_x` goes before the environment's, these before the
/// ensemble's own, these before defaults.
pub(super) fn inputs_of(
    manifest: &Manifest,
    environment: &Environment,
    service: &ServiceTemplate,
    options: &SessionOptions,
    problems: &mut Diagnostics,
) -> Map {
    let mut given = manifest.spec_inputs();
    given.extend(
        environment
            .inputs
            .iter()
            .map(|(name, value)| (Arc::clone(name), value.clone())),
    );
    for (name, text) in &options.vars {
        let Some(input) = name.strip_prefix("input_") else {
            continue;
        };
        match parse_value(text) {
            Ok(value) => drop(given.insert(input.into(), value)),
            Err(message) => {
                let message = format!("the value of `--var {name}` is not YAML: {message}");
                problems.push(Diagnostic::error(message));
            }
        }
    }
    let mut inputs = Map::new();
    for (name, definition) in &service.topology.inputs {
        // An input that may be missing is there, and null.
        if let Some(value) = given
            .shift_remove(name)
            .or_else(|| definition.default.clone())
            .or_else(|| (!definition.required).then_some(Value::Null))
        {
            inputs.insert(Arc::clone(name), value);
        }
    }
    inputs.extend(given);
    inputs
}

fn parse_value(text: &str) -> Result<Value, String> {
    let mut sources = Sources::default();
    let source = sources.add("--var", text, None);
    let first = |problems: Diagnostics| {
        problems
            .iter()
            .next()
            .map_or_else(String::new, |problem| problem.message.clone())
    };
    yaml::parse(&sources, source, &Limits::default())
        .map(|node| node.to_value())
        .map_err(first)
}

/// Where inputs are given that are not left to their defaults; no text gives those of options.
pub(super) fn input_places(
    manifest: &Manifest,
    environment: &Environment,
    options: &SessionOptions,
) -> HashMap<Arc<str>, Span> {
    let spec = manifest.root().get("spec");
    let given = [
        spec.and_then(|spec| spec.get("inputs")),
        environment.section("inputs"),
    ];
    let given = given.into_iter().flatten().filter_map(Node::as_map);
    let mut places: HashMap<_, _> = given
        .flat_map(|map| map.iter())
        .map(|(name, entry)| (Arc::clone(name), entry.value.span()))
        .collect();
    for (name, _) in &options.vars {
        if let Some(name) = name.strip_prefix("input_") {
            places.insert(name.into(), Span::NONE);
        }
    }
    places
}
