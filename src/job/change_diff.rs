//! Differences since the last run of an operation: which values changed, from what to what, and where
//! they are written.
//!
//! [`Evaluation::compare_with_record`] is the entry. Proposals call it for tasks that they explain; change
//! detection itself (`compare`) does not need it.

use std::collections::HashSet;

use indexmap::{IndexMap, IndexSet};

use super::change::DetectedChange;
use super::digest::{AS_WRITTEN_PREFIX, ENVIRONMENT_KEY, written_value};
use super::evaluation::{Evaluation, ScopedEvaluator};
use super::file_reads::FILE_PREFIX;
use super::history::{LastOperation, RecordedReads};
use super::live_attributes::is_live;
use super::recorded_form::{as_recorded, can_be_equal, hide_like, mentions_secret};
use super::task::Task;
use crate::diagnostic::Span;
use crate::expr::Read;
use crate::name::ChangeId;
use crate::topology::EntityKind;
use crate::value::{ExternalKind, Handle, Value};

/// The maximum number of attributes to trace when looking for the sources of a value.
const MAX_READS: usize = 100;
/// The record key of all inputs of a topology.
const INPUTS_KEY: &str = "::root::inputs";

/// The kind of a changed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DifferenceKind {
    TopologyInput,
    /// A property, which the model sets.
    Property,
    /// An attribute, which tasks set (unlike a property).
    Attribute,
    /// An external dependency: a file, a folder, or an image.
    File,
    Input,
    /// The environment variables that the operation sets for its commands.
    Environment,
}

impl DifferenceKind {
    /// Returns the text shown to users.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TopologyInput => "topology input",
            Self::Property => "property",
            Self::Attribute => "attribute",
            Self::File => "file",
            Self::Input => "input",
            Self::Environment => "environment",
        }
    }
}

/// The old or new side of a difference.
#[derive(Debug, Clone, PartialEq)]
pub enum DifferenceSide {
    /// The value is not known; only a digest shows that it differs.
    Unknown,
    /// The value did not exist, or no longer exists.
    Missing,
    Value(Value),
    /// The value cannot be evaluated, for this reason.
    Failed(String),
}

/// A value that differs from the one that an operation read at its last run.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub kind: DifferenceKind,
    /// The record key, such as `::web::port` or `command`.
    pub key: String,
    pub name: String,
    /// The instance that has the value, if it is not the task's target.
    pub of: Option<String>,
    pub old: DifferenceSide,
    pub new: DifferenceSide,
    pub secret: bool,
    /// The source position of the value.
    pub span: Span,
    /// The keys of the differences that cause this one.
    pub follows: Vec<String>,
}

/// The comparison of the values that an operation read at its last run with the current ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// The task that last ran the operation.
    pub since: Option<ChangeId>,
    pub compared: usize,
    pub differences: Vec<Difference>,
    /// The keys of which at least one differs, if the record does not show which.
    pub candidates: Vec<String>,
    /// The reason why the old values are not known.
    pub unknown: Option<String>,
}

/// The current value of a record key.
#[derive(Debug)]
struct CurrentValue {
    value: Result<Value, String>,
    /// Keys and values that the value was computed from.
    from: Vec<(String, Value)>,
}

impl Evaluation<'_> {
    /// Compares the values that a task's operation read at its last run with the current ones. None if
    /// the operation never ran.
    pub(super) fn compare_with_record(&self, task: &Task) -> Option<Comparison> {
        let last = self.last_operation(task.spec.target, task.spec.reference.operation.as_str())?;
        let mut comparison = Comparison {
            since: last.id,
            ..Comparison::default()
        };
        let recorded = match last.id.map(|id| self.context.history.recorded_reads(id)) {
            Some(Ok(Some(recorded))) => Some(recorded),
            Some(Err(why)) => {
                comparison.unknown = Some(why.to_string());
                None
            }
            Some(Ok(None)) | None => {
                comparison.unknown = Some("the record of its last task is missing".to_owned());
                None
            }
        };
        let comparer = Comparer {
            evaluation: *self,
            task,
            evaluator: self.evaluator_for(task),
            recorded: recorded.as_ref(),
        };
        comparer.compare(&last, &mut comparison);
        Some(comparison)
    }

    /// Resolves a record key to an entity and the name of its attribute.
    fn resolve_key<'k>(&self, from: Handle, key: &'k str) -> Option<(Handle, &'k str)> {
        let (entity, name) = key.rsplit_once("::")?;
        if entity == INPUTS_KEY {
            let root = self.topology.root_of(from);
            return Some((self.topology.inputs_of(root), name));
        }
        let path = entity.strip_prefix("::")?;
        if let Some(node) = self.topology.find_from(from, path) {
            return Some((node, name));
        }
        let (node, _) = path.split_once("::.")?;
        let node = self.topology.find_from(from, node)?;
        let node = self.topology.entity(node).node()?;
        let mut parts = node.capabilities.iter().chain(&node.requirements);
        let mut artifacts = node.artifacts.iter();
        let is_it = |part: &&Handle| self.topology.entity(**part).key.as_str() == entity;
        let part = parts.find(is_it).or_else(|| artifacts.find(is_it))?;
        Some((*part, name))
    }
}

/// A comparison of one task with the recorded reads of its operation.
struct Comparer<'e> {
    evaluation: Evaluation<'e>,
    task: &'e Task,
    evaluator: ScopedEvaluator<'e>,
    recorded: Option<&'e RecordedReads>,
}

impl Comparer<'_> {
    fn compare(&self, last: &LastOperation, into: &mut Comparison) {
        let (keys, written) = recorded_keys(last);
        into.compared = keys.len() + written.len();
        let mut doubt = Vec::new();
        let mut found = self.compare_keys(&keys, &mut doubt);
        if found.is_empty() {
            // Inputs recorded as written may evaluate differently without a change of the model, so they
            // are compared last.
            found = self.compare_keys(&written, &mut doubt);
        }
        if let DetectedChange::Inputs(new) = &self.task.change {
            for key in new {
                let difference = self.difference(key, DifferenceSide::Missing, &self.current(key));
                found.insert(key.clone(), difference);
            }
        }
        retain_roots(&mut found);
        if found.is_empty() {
            let candidates = if self.task.change == DetectedChange::Secrets {
                last.secret_keys
                    .iter()
                    .map(|key| strip_as_written(key))
                    .collect()
            } else if doubt.is_empty() || self.recorded.is_none() {
                keys.into_iter().chain(written).collect()
            } else {
                doubt
            };
            self.add_candidates(candidates, into);
        }
        into.differences.extend(found.into_values());
        into.differences
            .sort_by_key(|difference| (!difference.follows.is_empty(), difference.kind));
    }

    /// Returns the differences for some keys. Keys whose old value the record does not show are added to
    /// `doubt`.
    fn compare_keys(
        &self,
        keys: &[String],
        doubt: &mut Vec<String>,
    ) -> IndexMap<String, Difference> {
        let mut found: IndexMap<String, Difference> = IndexMap::new();
        let mut sources = Vec::new();
        for key in keys {
            if key == INPUTS_KEY {
                self.compare_inputs(&mut found);
                continue;
            }
            let current = self.current(key);
            let recorded = self.recorded_value(key);
            let (old, new) = (
                side(recorded, current.value.as_ref().ok()),
                current.to_side(self.task, key),
            );
            if old == DifferenceSide::Unknown || is_hidden(&current.value, &old) {
                doubt.push(key.clone());
            }
            let is_listed =
                old != DifferenceSide::Unknown || !matches!(new, DifferenceSide::Value(_));
            let is_equal = match (recorded, &new, &current.value) {
                (Some(recorded), DifferenceSide::Value(_), Ok(value)) => {
                    can_be_equal(recorded, value)
                }
                _ => old == new,
            };
            if !is_listed || is_equal {
                continue;
            }
            let difference = self.difference(key, old, &current);
            found.insert(key.clone(), difference);
            sources.push((key.clone(), current.from));
        }
        for (key, from) in sources {
            self.add_sources(&key, from, &mut found);
        }
        found
    }

    /// Adds the keys that may have changed, if only a digest shows a change.
    fn add_candidates(&self, mut candidates: Vec<String>, into: &mut Comparison) {
        let mut reader = None;
        if candidates.iter().any(|key| key.starts_with(FILE_PREFIX)) {
            // The value of a path has changed only if the file at the path has.
            candidates.retain(|key| {
                let current = self.current(key);
                let is_file = key.starts_with(FILE_PREFIX);
                let is_kept = is_file || !current.value.as_ref().is_ok_and(is_of_file);
                if !is_kept {
                    let difference = self.difference(key, DifferenceSide::Unknown, &current);
                    reader.get_or_insert(difference.span);
                }
                is_kept
            });
        }
        match <[String; 1]>::try_from(candidates) {
            Ok([only]) => {
                let mut difference =
                    self.difference(&only, DifferenceSide::Unknown, &self.current(&only));
                difference.span = reader.unwrap_or(difference.span);
                into.differences.push(difference);
            }
            Err(candidates) => {
                let name = |key: String| match key.strip_prefix(FILE_PREFIX) {
                    Some(path) => path.to_owned(),
                    None => key,
                };
                into.candidates = candidates.into_iter().map(name).collect();
            }
        }
    }

    fn current(&self, key: &str) -> CurrentValue {
        let value = self
            .evaluation
            .current_value(self.task, key, &self.evaluator);
        let reads = self.evaluator.take_reads();
        let value = value.map_err(|error| error.redacted(&reads).to_string());
        let inputs = reads.iter().filter_map(|(read, value)| match read {
            Read::Input(name) => Some((name.to_string(), value.clone())),
            _ => None,
        });
        let attributes = self.evaluator.closure(&reads, MAX_READS).into_iter();
        let attributes =
            attributes.filter_map(|(of, name, value)| Some((self.record_key(of, &name)?, value)));
        let from = inputs.chain(attributes).filter(|(source, _)| source != key);
        CurrentValue {
            value,
            from: from.collect(),
        }
    }

    /// Returns the record key of an attribute or of a topology input.
    fn record_key(&self, of: Handle, name: &str) -> Option<String> {
        match self.evaluation.topology.entity(of).kind {
            EntityKind::Inputs => Some(format!("{INPUTS_KEY}::{name}")),
            EntityKind::Root => None,
            _ => self.evaluation.attribute_key(of, name),
        }
    }

    /// Returns the value of a key when the operation last ran, as recorded.
    fn recorded_value(&self, key: &str) -> Option<&Value> {
        let recorded = self.recorded?;
        if !key.contains("::") {
            recorded.inputs.get(key)
        } else if let Some(name) = key.strip_prefix("::root::inputs::") {
            recorded.reads.get(INPUTS_KEY)?.get(name)
        } else {
            recorded.reads.get(key)
        }
    }

    /// Compares all topology inputs with the recorded ones.
    fn compare_inputs(&self, found: &mut IndexMap<String, Difference>) {
        let recorded = self.recorded.and_then(|all| all.reads.get(INPUTS_KEY));
        let Some(old) = recorded.and_then(Value::as_map) else {
            return;
        };
        let now = self.evaluation.inputs();
        for name in old.keys().chain(now.keys()) {
            let key = format!("{INPUTS_KEY}::{name}");
            let (old, now) = (old.get(name), now.get(name));
            let is_equal = old
                .zip(now)
                .is_some_and(|(old, now)| can_be_equal(old, now));
            let new = now.map_or(DifferenceSide::Missing, |now| {
                DifferenceSide::Value(as_recorded(now))
            });
            let old = old.map_or(DifferenceSide::Missing, |_| side(old, now));
            if !is_equal && !found.contains_key(&key) {
                let current = self.current(&key);
                let mut difference = self.difference(&key, old, &current);
                difference.new = new;
                found.insert(key, difference);
            }
        }
    }

    /// Adds the sources of a difference that differ as well.
    fn add_sources(
        &self,
        key: &str,
        from: Vec<(String, Value)>,
        found: &mut IndexMap<String, Difference>,
    ) {
        for (source, value) in from {
            if !found.contains_key(&source) {
                let Some(recorded) = self.recorded_value(&source) else {
                    continue;
                };
                if can_be_equal(recorded, &value) {
                    continue;
                }
                let old = side(Some(recorded), Some(&value));
                let current = CurrentValue {
                    value: Ok(value),
                    from: Vec::new(),
                };
                let difference = self.difference(&source, old, &current);
                found.insert(source.clone(), difference);
            }
            if let Some(difference) = found.get_mut(key) {
                difference.follows.push(source);
            }
        }
    }

    fn difference(&self, key: &str, old: DifferenceSide, current: &CurrentValue) -> Difference {
        let topology = &self.evaluation.topology;
        let (mut kind, mut of) = (DifferenceKind::Property, None);
        let (mut name, mut span) = (key.to_owned(), Span::NONE);
        if let Some(path) = key.strip_prefix(FILE_PREFIX) {
            (kind, name) = (DifferenceKind::File, path.to_owned());
            span = self.task.spec.operation.place();
        } else if key == ENVIRONMENT_KEY {
            (kind, name) = (DifferenceKind::Environment, "of the commands".to_owned());
            let implementation = self.task.spec.operation.implementation.as_ref();
            span = implementation.map_or(Span::NONE, |it| it.span);
        } else if !key.contains("::") {
            kind = DifferenceKind::Input;
            let known = self.task.spec.operation.input_spans.get(key).copied();
            span = known.unwrap_or(self.task.spec.operation.span);
        } else if let Some((entity, attribute)) =
            self.evaluation.resolve_key(self.task.spec.target, key)
        {
            span = topology.span_of(entity, attribute);
            attribute.clone_into(&mut name);
            if matches!(topology.entity(entity).kind, EntityKind::Inputs) {
                kind = DifferenceKind::TopologyInput;
            } else {
                of = (entity != self.task.spec.target).then(|| self.entity_label(entity));
                if is_live(topology, entity, attribute) == Some(true) {
                    kind = DifferenceKind::Attribute;
                }
            }
        }
        let is_file = current.value.as_ref().is_ok_and(is_external);
        let is_secret = |side: &DifferenceSide| matches!(side, DifferenceSide::Value(value) if mentions_secret(value));
        let new = current.to_side(self.task, key);
        Difference {
            kind: if is_file { DifferenceKind::File } else { kind },
            key: key.to_owned(),
            name,
            of,
            secret: is_secret(&old) || is_secret(&new),
            old,
            new,
            span,
            follows: Vec::new(),
        }
    }

    /// Returns the display name of an entity: an instance's name, or the key of one of its parts.
    fn entity_label(&self, of: Handle) -> String {
        let entity = self.evaluation.topology.entity(of);
        match entity.kind {
            EntityKind::Node(_) => entity.name.to_string(),
            _ => entity.key.to_string(),
        }
    }
}

impl CurrentValue {
    /// Returns the current value in the form in which a task's record would contain it.
    fn to_side(&self, task: &Task, key: &str) -> DifferenceSide {
        if !key.contains("::") && written_value(task, key).is_none() {
            return DifferenceSide::Missing;
        }
        match &self.value {
            Ok(Value::Null) if key.starts_with(FILE_PREFIX) => DifferenceSide::Missing,
            Ok(_) if key.starts_with(FILE_PREFIX) => DifferenceSide::Unknown,
            Ok(value) => DifferenceSide::Value(as_recorded(value)),
            Err(why) => DifferenceSide::Failed(why.clone()),
        }
    }
}

/// Returns the old side of a difference, without what is secret now.
fn side(recorded: Option<&Value>, current: Option<&Value>) -> DifferenceSide {
    recorded.map_or(DifferenceSide::Unknown, |recorded| {
        DifferenceSide::Value(match current {
            Some(current) => hide_like(recorded, current),
            None => recorded.redacted(),
        })
    })
}

/// Returns the keys that an operation read: those recorded by value, and those of inputs recorded as
/// written.
fn recorded_keys(last: &LastOperation) -> (Vec<String>, Vec<String>) {
    if !last.is_exact() {
        return (last.digest_keys.clone(), Vec::new());
    }
    let all = last.exact_keys.iter().chain(&last.secret_keys);
    let (written, values): (Vec<&String>, Vec<&String>) =
        all.partition(|key| key.starts_with(AS_WRITTEN_PREFIX));
    let stripped_keys = |keys: Vec<&String>| {
        let keys: IndexSet<String> = keys.into_iter().map(|key| strip_as_written(key)).collect();
        keys.into_iter().collect()
    };
    (stripped_keys(values), stripped_keys(written))
}

fn strip_as_written(key: &str) -> String {
    key.strip_prefix(AS_WRITTEN_PREFIX)
        .unwrap_or(key)
        .to_owned()
}

/// Whether records cannot show a change of a value, because it is secret or external.
fn is_hidden(value: &Result<Value, String>, old: &DifferenceSide) -> bool {
    let outside = value
        .as_ref()
        .is_ok_and(|value| value.has_sensitive() || is_external(value));
    outside || matches!(old, DifferenceSide::Value(value) if mentions_secret(value))
}

fn is_of_file(value: &Value) -> bool {
    match value {
        Value::External(external) => {
            matches!(external.kind, ExternalKind::File | ExternalKind::Path)
        }
        Value::List(items) => items.iter().any(is_of_file),
        Value::Map(map) => map.values().any(is_of_file),
        _ => false,
    }
}

fn is_external(value: &Value) -> bool {
    match value {
        Value::External(external) => !matches!(
            external.kind,
            ExternalKind::Other | ExternalKind::PlainScalar
        ),
        Value::List(items) => items.iter().any(is_external),
        Value::Map(map) => map.values().any(is_external),
        Value::Data(inner) => is_external(inner),
        _ => false,
    }
}

/// Reduces the causes of each difference to those that have no cause themselves.
fn retain_roots(found: &mut IndexMap<String, Difference>) {
    let derived: HashSet<String> = found
        .values()
        .filter(|difference| !difference.follows.is_empty())
        .map(|difference| difference.key.clone())
        .collect();
    for difference in found.values_mut() {
        let roots = difference.follows.iter().any(|key| !derived.contains(key));
        if roots {
            difference.follows.retain(|key| !derived.contains(key));
        }
    }
}
