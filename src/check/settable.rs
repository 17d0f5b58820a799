//! The names that tasks or earlier jobs may give to attributes and instances, beyond those that the model declares.

use std::collections::HashSet;
use std::sync::Arc;

use super::calls::distinct;
use crate::tosca::{ImplementationKind, NodeTemplate, Operation, TopologyTemplate};
use crate::value::Value;

/// The inputs of an operation that set attributes or add instances.
const SETTING_INPUTS: [&str; 4] = ["resultTemplate", "outputsTemplate", "done", "run"];

/// The words that occur where tasks set attributes, and the names on record.
#[derive(Debug, Default)]
pub(super) struct SettableNames {
    words: HashSet<Arc<str>>,
    /// The texts before the tags of computed names, such as `worker` of `worker{{ number }}`.
    prefixes: HashSet<Arc<str>>,
}

impl SettableNames {
    /// Collects the words of all operations of a topology. `recorded` are names from the record.
    pub(super) fn of(topology: &TopologyTemplate, recorded: HashSet<Arc<str>>) -> Self {
        let mut names = Self {
            words: recorded,
            prefixes: HashSet::new(),
        };
        let nodes = topology.nodes.values();
        let of_nodes = nodes.flat_map(|node| {
            let artifacts = node.artifacts.values().flat_map(|it| it.operations.iter());
            let relationships = node
                .requirements
                .iter()
                .flat_map(|it| it.relationship.operations.iter());
            node.operations.iter().chain(artifacts).chain(relationships)
        });
        let of_relationships = topology
            .relationships
            .values()
            .flat_map(|it| it.operations.iter());
        for operation in distinct(of_nodes.chain(of_relationships)) {
            names.add_operation(operation);
        }
        names
    }

    /// Returns true if a task may set an attribute of this name, or add an instance of this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.words.contains(name)
            || self
                .prefixes
                .iter()
                .any(|prefix| name.starts_with(&**prefix))
    }

    fn add_operation(&mut self, operation: &Operation) {
        for input in SETTING_INPUTS {
            if let Some(value) = operation.inputs.get(input) {
                self.add_value(value, 0);
            }
        }
        for (name, value) in &operation.outputs {
            self.words.insert(Arc::clone(name));
            self.add_value(value, 0);
        }
        self.words
            .extend(operation.output_defs.keys().map(Arc::clone));
    }

    /// Adds the words that stand directly before a tag.
    fn add_prefixes(&mut self, text: &str) {
        for (at, _) in text.match_indices("{{") {
            let is_word = |at: char| at.is_alphanumeric() || matches!(at, '_' | '-');
            let before = text[..at].trim_end_matches(is_word).len();
            let computed = text[..before].trim_end().ends_with("name:");
            if before < at || computed {
                self.prefixes.insert(Arc::from(&text[before..at]));
            }
        }
    }

    fn add_value(&mut self, value: &Value, depth: usize) {
        if depth > 64 {
            return;
        }
        match value.reveal() {
            Value::Str(text) => {
                let words =
                    text.split(|at: char| !at.is_alphanumeric() && !matches!(at, '_' | '-' | '.'));
                self.add_prefixes(text);
                self.words
                    .extend(words.filter(|word| !word.is_empty()).map(Arc::from));
            }
            Value::List(items) => items
                .iter()
                .for_each(|item| self.add_value(item, depth + 1)),
            Value::Map(map) => {
                for (key, item) in map.iter() {
                    self.words.insert(Arc::clone(key));
                    self.add_value(item, depth + 1);
                }
            }
            _ => {}
        }
    }
}

/// Returns true if an operation of a node may set attributes whose names only its program knows.
pub(super) fn sets_unknown_names(node: &NodeTemplate) -> bool {
    node.operations.iter().any(|operation| {
        let Some(implementation) = &operation.implementation else {
            return operation.invoke.is_some();
        };
        // An artifact has inputs of its own, and an expression may come from a file.
        let is_expression = |name: &&str| {
            let map = operation.inputs.get(*name).and_then(Value::as_map);
            map.is_some_and(|map| map.contains_key("eval") || map.contains_key("ref"))
        };
        if implementation.primary.is_some() || SETTING_INPUTS.iter().any(is_expression) {
            return true;
        }
        match &implementation.kind {
            ImplementationKind::Unsupported(_) | ImplementationKind::Artifact(_) => true,
            ImplementationKind::Configurator(name) => {
                !matches!(&**name, "Shell" | "Cmd" | "Template")
            }
            ImplementationKind::Command(_) => false,
        }
    })
}
