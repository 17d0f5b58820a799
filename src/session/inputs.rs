//! Determines the values of a topology's inputs. The order of precedence is defined only here.

use std::sync::Arc;

use super::options::SessionOptions;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::ensemble::Manifest;
use crate::project::Environment;
use crate::topology::TopologyInputs;
use crate::tosca::ServiceTemplate;
use crate::value::{Map, Value};
use crate::yaml::{self, Node, Schema};

/// Returns the inputs of the topology, with source positions of explicit values.
///
/// Precedence, highest first: `--var input_x`, the environment, the ensemble's `spec.inputs`, the default.
pub(super) fn inputs_of(
    manifest: &Manifest,
    environment: &Environment,
    service: &ServiceTemplate,
    options: &SessionOptions,
    problems: &mut Diagnostics,
) -> TopologyInputs {
    let mut supplied = TopologyInputs::default();
    let spec = manifest.root().get("spec");
    let spec = spec.and_then(|spec| spec.get("inputs"));
    let sections = [spec, environment.section("inputs")].into_iter().flatten();
    for (name, entry) in sections.filter_map(Node::as_map).flatten() {
        let input = &entry.value;
        supplied.set(Arc::clone(name), input.to_value(), input.span());
    }
    for (name, text) in &options.vars {
        let Some(input) = name.strip_prefix("input_") else {
            continue;
        };
        match parse_value(text) {
            // Values of command-line options have no source position.
            Ok(value) => supplied.set(input.into(), value, Span::NONE),
            Err(message) => {
                let message = format!("the value of `--var {name}` is not YAML: {message}");
                problems.push(Diagnostic::error(message));
            }
        }
    }
    let mut values = Map::new();
    for (name, definition) in &service.topology.inputs {
        // A missing optional input has the value null.
        if let Some(value) = supplied
            .values
            .shift_remove(name)
            .or_else(|| definition.default.clone())
            .or_else(|| (!definition.required).then_some(Value::Null))
        {
            values.insert(Arc::clone(name), value);
        }
    }
    values.extend(supplied.values);
    TopologyInputs { values, ..supplied }
}

fn parse_value(text: &str) -> Result<Value, String> {
    Ok(yaml::parse_text(Schema::Core, text)?.to_value())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::diagnostic::{SourceId, Sources};
    use crate::ensemble::ManifestSource;
    use crate::project::Environments;
    use crate::tosca::{self, NoImports, ReadOptions};
    use crate::yaml::Limits;

    const ENSEMBLE: &str = "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template: {}
  inputs: {a: spec, b: spec, c: spec, more: spec}
";

    const SERVICE: &str = "tosca_definitions_version: tosca_simple_unfurl_1_0_0
topology_template:
  inputs:
    d: {type: string, default: unset}
    c: {type: string, default: unset}
    b: {type: string}
    a: {type: string}
    missing: {type: string}
    maybe: {type: string, required: false}
";

    fn node(sources: &mut Sources, text: &str) -> (SourceId, Node) {
        let source = sources.add("text", text, None);
        let root = yaml::parse(sources, source, &Limits::default()).unwrap();
        (source, root)
    }

    #[test]
    fn options_go_before_the_environment_that_before_the_ensemble_and_that_before_defaults() {
        let mut sources = Sources::default();
        let (source, root) = node(&mut sources, ENSEMBLE);
        let spec = root.get("spec").unwrap().get("inputs").unwrap().clone();
        let manifest = Manifest::read(ManifestSource {
            path: "ensemble.yaml".into(),
            text: ENSEMBLE.into(),
            source,
            expanded: yaml::Expanded {
                raw: root.clone(),
                root,
                merges: Vec::new(),
            },
        });
        let text = "{inputs: {a: environment, b: environment}}";
        let (_, section) = node(&mut sources, text);
        let environment = Environments::default().resolve(None, Some(&section));
        let (_, service) = node(&mut sources, SERVICE);
        let options = ReadOptions::default();
        let (service, _) = tosca::read(&service, Path::new("/"), &mut NoImports, &options);
        let options = SessionOptions {
            vars: vec![
                ("input_a".to_owned(), "option".to_owned()),
                ("other".to_owned(), "no input".to_owned()),
            ],
            ..SessionOptions::default()
        };
        let mut problems = Diagnostics::default();
        let inputs = inputs_of(
            &manifest.unwrap(),
            &environment,
            &service.unwrap(),
            &options,
            &mut problems,
        );
        assert!(problems.is_empty());
        assert_eq!(
            Value::from(inputs.values).to_string(),
            "{'d': 'unset', 'c': 'spec', 'b': 'environment', 'a': 'option', 'maybe': None, \
             'more': 'spec'}"
        );
        let of_environment = environment.section("inputs").unwrap();
        let place = |of: &Node, name: &str| of.get(name).unwrap().span();
        let expected = [
            ("a", Span::NONE),
            ("b", place(of_environment, "b")),
            ("c", place(&spec, "c")),
            ("more", place(&spec, "more")),
        ];
        let expected = expected.map(|(name, place)| (Arc::from(name), place));
        assert_eq!(inputs.spans, expected.into_iter().collect());
    }
}
