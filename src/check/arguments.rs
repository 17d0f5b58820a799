//! Checks the arguments that operations pass to the artifacts that they execute, by what `execute` declares.

use std::sync::Arc;

use super::checker::Checker;
use crate::diagnostic::{Check, Span};
use crate::expr::{is_expression, needs_evaluation};
use crate::text::did_you_mean;
use crate::tosca::{
    ArgumentSource, Artifact, INPUT_MATCH_KEY, NodeTemplate, OUTPUT_MATCH_KEY, Operation,
    PropertyDef, argument_inputs, argument_sources, check_argument,
};
use crate::value::{Map, Value};

/// The arguments of an operation, as far as they are known before a job.
struct KnownArguments<'a> {
    values: Vec<(Arc<str>, &'a Value, Span)>,
    /// True if the operation states the map of arguments itself.
    is_stated: bool,
}

impl<'a> Checker<'a> {
    /// Reports arguments that an artifact does not take, lacks, or cannot use.
    pub(super) fn arguments(
        &mut self,
        operation: &'a Operation,
        artifact: &'a Artifact,
        node: Option<&'a NodeTemplate>,
        subject: &dyn Fn() -> String,
    ) {
        self.listed_arguments(operation, subject);
        let Some(execute) = artifact.execute().filter(|it| !it.input_defs.is_empty()) else {
            return;
        };
        let Some(known) = known_arguments(operation, artifact, node) else {
            return;
        };
        if known.is_stated {
            self.unknown_arguments(&known, artifact, execute, subject);
        }
        for def in execute.input_defs.values() {
            let given = known.values.iter().rfind(|(name, ..)| *name == def.name);
            match given {
                Some((_, value, span)) => self.argument(def, value, *span),
                None => self.missing_argument(operation, artifact, def, subject),
            }
        }
    }

    fn argument(&mut self, def: &PropertyDef, value: &Value, span: Span) {
        if needs_evaluation(value) {
            return;
        }
        for problem in check_argument(&self.service.types, def, value, span) {
            self.report(problem);
        }
    }

    fn missing_argument(
        &mut self,
        operation: &Operation,
        artifact: &Artifact,
        def: &PropertyDef,
        subject: &dyn Fn() -> String,
    ) {
        let is_needed = def.required && def.default.is_none();
        if !is_needed || self.is_called(operation.reference.operation.as_str()) {
            return;
        }
        let name = &def.name;
        let message = format!(
            "{} has no argument `{name}`, which its artifact {} needs",
            subject(),
            described(artifact)
        );
        let hint = format!(
            "add `{name}` to the `inputs` of the operation, or give a property of this name the metadata `{INPUT_MATCH_KEY}`"
        );
        let check = Check::MissingConfiguratorInput;
        self.warning(check, message, operation.place(), "", Some(hint));
    }

    /// Reports keys of a stated map of arguments that the artifact does not declare.
    fn unknown_arguments(
        &mut self,
        known: &KnownArguments<'_>,
        artifact: &Artifact,
        execute: &Operation,
        subject: &dyn Fn() -> String,
    ) {
        for (name, _, span) in &known.values {
            if execute.input_defs.contains_key(name) || artifact.properties.contains_key(name) {
                continue;
            }
            let message = format!(
                "{} passes the argument `{name}`, which its artifact {} does not declare",
                subject(),
                described(artifact)
            );
            let names = execute.input_defs.keys().map(|name| &**name);
            let hint = did_you_mean(name, names);
            self.warning(Check::UnknownConfiguratorInput, message, *span, name, hint);
        }
    }

    /// Reports listed arguments that are no inputs of the operation.
    fn listed_arguments(&mut self, operation: &Operation, subject: &dyn Fn() -> String) {
        let listed = operation.listed_arguments().unwrap_or_default();
        for name in listed {
            if operation.inputs.contains_key(name) || operation.input_defs.contains_key(name) {
                continue;
            }
            let message = format!(
                "the metadata of {} lists the argument `{name}`, which is not among its inputs",
                subject()
            );
            let names = operation.inputs.keys().map(|name| &**name);
            let hint = did_you_mean(name, names);
            let hint = hint.unwrap_or_else(|| format!("add `{name}` to `inputs`"));
            let span = operation.span;
            self.warning(
                Check::MissingConfiguratorInput,
                message,
                span,
                name,
                Some(hint),
            );
        }
    }

    /// Reports words of `input_match` and `output_match` that resemble those of an artifact and match none.
    pub(super) fn matches(&mut self, node: &'a NodeTemplate) {
        let properties = node.properties.iter();
        let properties = properties.map(|(name, it)| (name, it.definition.as_deref()));
        let attributes = node.attributes.iter();
        let attributes = attributes.map(|(name, it)| (name, it.definition.as_deref()));
        let of_properties = properties.map(|(name, def)| (INPUT_MATCH_KEY, name, def));
        let of_attributes = attributes.map(|(name, def)| (OUTPUT_MATCH_KEY, name, def));
        for (key, name, def) in of_properties.chain(of_attributes) {
            let Some(def) = def else { continue };
            for word in def.match_words(key) {
                self.match_word(node, key, name, def, word);
            }
        }
    }

    fn match_word(
        &mut self,
        node: &NodeTemplate,
        key: &str,
        name: &str,
        def: &PropertyDef,
        word: &str,
    ) {
        let artifacts = node.artifacts.values();
        let known: Vec<_> = artifacts.flat_map(|it| it.match_words(key)).collect();
        if known.contains(&word) {
            return;
        }
        let Some(hint) = did_you_mean(word, known) else {
            return;
        };
        let message = format!(
            "`{key}` of `{name}` names `{word}`, which is no artifact of node template `{}` and no word of their `execute`",
            node.name
        );
        self.warning(Check::UnknownArtifact, message, def.span, word, Some(hint));
    }
}

fn described(artifact: &Artifact) -> String {
    if artifact.is_inline() {
        format!("of type `{}`", artifact.type_name)
    } else {
        format!("`{}`", artifact.name)
    }
}

/// Returns the arguments of an operation. None if an expression makes the whole map.
fn known_arguments<'a>(
    operation: &'a Operation,
    artifact: &'a Artifact,
    node: Option<&'a NodeTemplate>,
) -> Option<KnownArguments<'a>> {
    if let Some(stated) = operation.inputs.get("arguments") {
        let map = stated.as_map().filter(|_| !is_expression(stated))?;
        let span = operation.input_place("arguments");
        return Some(KnownArguments {
            values: map
                .iter()
                .map(|(name, value)| (Arc::clone(name), value, span))
                .collect(),
            is_stated: true,
        });
    }
    let own = node.into_iter().flat_map(|node| &*node.properties);
    let mut gathered = Map::new();
    let mut values = Vec::new();
    for (name, source) in argument_sources(Some(artifact), own) {
        let (value, span) = match source {
            ArgumentSource::Execute(value) => (value, artifact.span),
            ArgumentSource::Artifact(property) | ArgumentSource::Node(property) => {
                (&property.value, property.span)
            }
        };
        gathered.insert(Arc::clone(name), Value::Null);
        values.push((Arc::clone(name), value, span));
    }
    for name in argument_inputs(operation, Some(artifact), &gathered) {
        if let Some(value) = operation.inputs.get(&name) {
            let span = operation.input_place(&name);
            values.push((name, value, span));
        } else if operation.input_defs.contains_key(&name) {
            // The input gets its value from a call.
            values.push((name, &Value::Null, Span::NONE));
        }
    }
    Some(KnownArguments {
        values,
        is_stated: false,
    })
}
