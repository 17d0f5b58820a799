//! The match of properties and attributes with artifacts: which properties an artifact takes as arguments, and which
//! attributes its outputs set (rule U-k).
//!
//! The metadata `input_match` of a property and `output_match` of an attribute name artifacts, or keys that the operation
//! `execute` of an artifact has under the same metadata key.

use std::sync::Arc;

use super::definition::{Property, PropertyDef};
use super::operation::{Artifact, Operation};
use crate::value::{Map, Value};

/// The metadata key of properties that are arguments of artifacts.
pub const INPUT_MATCH_KEY: &str = "input_match";

/// The metadata key of attributes that outputs of artifacts set.
pub const OUTPUT_MATCH_KEY: &str = "output_match";

/// The metadata key of operations that lists the inputs that are arguments.
const ARGUMENTS_KEY: &str = "arguments";

/// The values that an artifact gets as arguments, before those of the operation's inputs.
#[derive(Debug, Clone, Copy)]
pub enum ArgumentSource<'a> {
    /// A default of the operation `execute`.
    Execute(&'a Value),
    /// A property of the artifact.
    Artifact(&'a Property),
    /// A property of the node.
    Node(&'a Property),
}

impl Operation {
    /// Returns the names of the inputs that the operation lists as arguments. None if it has no list.
    pub fn listed_arguments(&self) -> Option<Vec<&str>> {
        self.metadata.get(ARGUMENTS_KEY).map(words)
    }
}

impl PropertyDef {
    /// Returns true if a property or attribute of a node is matched with an artifact by the metadata `key`: with any
    /// artifact, with a named one, or with those whose `execute` has a common word.
    pub fn matches(&self, key: &str, artifact: Option<&Artifact>) -> bool {
        let Some(mark) = self.metadata.get(key) else {
            return false;
        };
        if let Some(flag) = mark.as_bool() {
            return flag;
        }
        let wanted = words(mark);
        artifact.is_some_and(|artifact| artifact.match_words(key).any(|it| wanted.contains(&it)))
    }

    /// Returns the words that the metadata `key` of a property or attribute lists.
    pub fn match_words(&self, key: &str) -> Vec<&str> {
        self.metadata.get(key).map_or_else(Vec::new, words)
    }
}

impl Artifact {
    /// Returns the words with which properties and attributes refer to the artifact: its name, and those of `execute`.
    pub fn match_words(&self, key: &str) -> impl Iterator<Item = &str> {
        let own = self.execute().and_then(|it| it.metadata.get(key));
        let own = own.map_or_else(Vec::new, words);
        std::iter::once(&*self.name).chain(own)
    }
}

/// Returns the arguments of an artifact that come from no input of the operation, from the least to the most specific one.
///
/// A name can occur several times. The last one counts.
pub fn argument_sources<'a>(
    artifact: Option<&'a Artifact>,
    node_properties: impl IntoIterator<Item = (&'a Arc<str>, &'a Property)>,
) -> Vec<(&'a Arc<str>, ArgumentSource<'a>)> {
    let execute = artifact.and_then(Artifact::execute);
    let mut sources = Vec::new();
    let defaults = execute.into_iter().flat_map(|it| &it.inputs);
    sources.extend(defaults.map(|(name, value)| (name, ArgumentSource::Execute(value))));
    let of_artifact = artifact.into_iter().flat_map(|it| &*it.properties);
    let marked = of_artifact.filter(|(_, it)| {
        let definition = it.definition.as_deref();
        definition.is_some_and(|definition| definition.flag(INPUT_MATCH_KEY))
    });
    sources.extend(marked.map(|(name, it)| (name, ArgumentSource::Artifact(it))));
    let matching = node_properties.into_iter().filter(|(_, it)| {
        let definition = it.definition.as_deref();
        definition.is_some_and(|definition| definition.matches(INPUT_MATCH_KEY, artifact))
    });
    sources.extend(matching.map(|(name, it)| (name, ArgumentSource::Node(it))));
    sources
}

/// Returns the names of an operation's inputs that are arguments of the artifact, if the operation has them.
///
/// Those that the operation lists count. Without a list, those that `execute` declares and those of `gathered` do.
pub fn argument_inputs(
    operation: &Operation,
    artifact: Option<&Artifact>,
    gathered: &Map,
) -> Vec<Arc<str>> {
    if let Some(listed) = operation.listed_arguments() {
        return listed.into_iter().map(Arc::from).collect();
    }
    let execute = artifact.and_then(Artifact::execute);
    let declared = execute.into_iter().flat_map(|it| it.input_defs.keys());
    gathered.keys().chain(declared).cloned().collect()
}

fn words(value: &Value) -> Vec<&str> {
    match value.as_list() {
        Some(items) => items.iter().filter_map(Value::as_str).collect(),
        None => value.as_str().into_iter().collect(),
    }
}
