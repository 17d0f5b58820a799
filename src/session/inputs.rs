//! Determines the values of a topology's inputs. The order of precedence is defined only here.

use std::sync::Arc;

use indexmap::IndexMap;

use super::given_inputs::GivenInputs;
use super::input_source::InputSource;
use crate::diagnostic::{Diagnostics, Span};
use crate::ensemble::Manifest;
use crate::project::Environment;
use crate::topology::TopologyInputs;
use crate::tosca::{DataKind, InputOrigin, PropertyDef, ServiceTemplate};
use crate::value::{Map, Value};
use crate::yaml::Node;

/// The places that supply values of inputs.
pub(super) struct InputLayers<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) environment: &'a Environment,
    pub(super) service: &'a ServiceTemplate,
    pub(super) given: &'a GivenInputs,
}

/// The inputs of a topology with the sources of their values.
#[derive(Debug, Default)]
pub(super) struct ResolvedInputs {
    pub(super) inputs: TopologyInputs,
    pub(super) sources: IndexMap<Arc<str>, InputSource>,
}

impl ResolvedInputs {
    fn set(&mut self, name: Arc<str>, value: Value, source: InputSource) {
        self.inputs.set(Arc::clone(&name), value, source.span());
        self.sources.insert(name, source);
    }

    /// Returns the places of the values and the texts that name their sources in messages.
    pub(super) fn origins(&self, service: &ServiceTemplate) -> Vec<(Arc<str>, InputOrigin)> {
        let origin = |(name, source): (&Arc<str>, &InputSource)| {
            let is_named = source.is_given() || matches!(source, InputSource::Environment(_));
            // The line of a sensitive value must not be shown.
            let span = if is_sensitive(service, &self.inputs.values, name) {
                Span::NONE
            } else {
                source.span()
            };
            let named = is_named.then(|| source.to_string());
            (Arc::clone(name), InputOrigin { span, named })
        };
        self.sources.iter().map(origin).collect()
    }
}

/// Whether an input is declared sensitive or its value is.
fn is_sensitive(service: &ServiceTemplate, values: &Map, name: &str) -> bool {
    let definition = service.topology.inputs.get(name);
    definition.is_some_and(|it| it.is_sensitive())
        || values.get(name).is_some_and(Value::has_sensitive)
}

/// Returns true if a text is a value of an input as it stands, so that the text of a file needs no quotes.
fn takes_text(service: &ServiceTemplate, name: &str) -> bool {
    let definition = service.topology.inputs.get(name);
    definition.is_none_or(|it| {
        matches!(
            it.schema.kind,
            DataKind::Any
                | DataKind::String
                | DataKind::Timestamp
                | DataKind::Version
                | DataKind::Json
                | DataKind::Xml
                | DataKind::Scalar(_)
        )
    })
}

/// Returns the inputs of the topology.
///
/// Precedence, highest first: `--var input_x`, `--var-file`, `UNFURL_INPUT_x`, the environment, the ensemble's
/// `spec.inputs`, the default.
pub(super) fn resolve(layers: &InputLayers<'_>, problems: &mut Diagnostics) -> ResolvedInputs {
    let service = layers.service;
    let mut supplied = ResolvedInputs::default();
    let spec = layers.manifest.root().get("spec");
    let spec = spec.and_then(|spec| spec.get("inputs"));
    for (name, entry) in spec.and_then(Node::as_map).into_iter().flatten() {
        let source = InputSource::Ensemble(entry.value.span());
        supplied.set(Arc::clone(name), entry.value.to_value(), source);
    }
    let section = layers.environment.section("inputs");
    for (name, entry) in section.and_then(Node::as_map).into_iter().flatten() {
        let source = InputSource::Environment(entry.value.span());
        supplied.set(Arc::clone(name), entry.value.to_value(), source);
    }
    // An input that the ensemble sets and no type declares can be set in other ways, too.
    let mut known: Vec<Arc<str>> = service.topology.inputs.keys().cloned().collect();
    let undeclared = supplied.sources.keys();
    let undeclared = undeclared.filter(|name| !service.topology.inputs.contains_key(*name));
    known.extend(undeclared.cloned());
    let is_sensitive = |name: &str| is_sensitive(service, &supplied.inputs.values, name);
    let takes_text = |name: &str| takes_text(service, name);
    let values = layers
        .given
        .values(&known, &is_sensitive, &takes_text, problems);
    for given in values {
        supplied.set(given.name, given.value, given.source);
    }
    in_order_of_declaration(service, supplied)
}

/// Adds defaults, and sorts the inputs in the order of their declarations.
fn in_order_of_declaration(
    service: &ServiceTemplate,
    mut supplied: ResolvedInputs,
) -> ResolvedInputs {
    let mut values = Map::new();
    let mut sources = IndexMap::new();
    for (name, definition) in &service.topology.inputs {
        let (value, source) = match supplied.inputs.values.shift_remove(name) {
            Some(value) => (value, supplied.sources.shift_remove(name)),
            None => match default_of(definition) {
                Some((value, source)) => (value, Some(source)),
                None => continue,
            },
        };
        values.insert(Arc::clone(name), value);
        sources.extend(source.map(|source| (Arc::clone(name), source)));
    }
    values.extend(supplied.inputs.values);
    sources.extend(supplied.sources);
    let spans = supplied.inputs.spans;
    ResolvedInputs {
        inputs: TopologyInputs { values, spans },
        sources,
    }
}

/// Returns the default of an input. A missing optional input has the value null.
fn default_of(definition: &PropertyDef) -> Option<(Value, InputSource)> {
    if let Some(default) = &definition.default {
        return Some((
            default.clone(),
            InputSource::Default(definition.default_span),
        ));
    }
    (!definition.required).then_some((Value::Null, InputSource::Unset))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::diagnostic::{SourceId, Sources};
    use crate::ensemble::ManifestSource;
    use crate::project::{Environments, FileLoader};
    use crate::session::{GivenVariable, SessionOptions};
    use crate::system::env::Env;
    use crate::tosca::{self, NoImports, ReadOptions};
    use crate::yaml::{self, Limits};

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
            writer: Arc::new(crate::secret::Keys::default()),
        });
        let text = "{inputs: {a: environment, b: environment}}";
        let (_, section) = node(&mut sources, text);
        let environment = Environments::default().resolve(None, Some(&section));
        let (_, service) = node(&mut sources, SERVICE);
        let options = ReadOptions::default();
        let (service, _) = tosca::read(&service, Path::new("/"), &mut NoImports, &options);
        let options = SessionOptions {
            vars: [("input_a", "option"), ("other", "no input")]
                .map(|(name, text)| GivenVariable {
                    name: name.to_owned(),
                    text: text.to_owned().into(),
                    is_literal: false,
                })
                .to_vec(),
            ..SessionOptions::default()
        };
        let env = Env::default();
        let mut loader = FileLoader::new(&mut sources, &env, Limits::default());
        let given = GivenInputs::read(&options, &env, &mut loader).unwrap();
        let mut problems = Diagnostics::default();
        let layers = InputLayers {
            manifest: &manifest.unwrap(),
            environment: &environment,
            service: &service.unwrap(),
            given: &given,
        };
        let inputs = resolve(&layers, &mut problems).inputs;
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
