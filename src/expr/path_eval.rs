//! The evaluation of paths: follows the segments of a path from item to item, looks up keys of entities,
//! maps and lists, and resolves variables.

use std::sync::Arc;

use crate::value::{External, ExternalKind, Handle, Map, Value};

use super::context::Var;
use super::error::Error;
use super::evaluator::Evaluator;
use super::functions::absolute_path;
use super::lazy::{LazyCollection, LazyValue, Scene};
use super::path::{self, Key, Modifier, Segment, ValueTest};
use super::reads::Read;

/// The special keys that return an enumeration in Unfurl, where no text equals an enumeration value.
const ENUMERATIONS: [&str; 5] = [
    ".status",
    ".state",
    ".local_status",
    ".priority",
    ".local_state",
];

impl Evaluator {
    /// Evaluates a path and returns its results.
    pub(super) fn evaluate_path(&self, text: &str, scene: &Scene) -> Result<Vec<LazyValue>, Error> {
        let segments = self.segments(text)?;
        let Some(first) = segments.first() else {
            return Ok(Vec::new());
        };
        let mut results = Vec::new();
        match &first.key {
            Key::None if first.filters.is_empty() => {
                let all = LazyValue::AllInstances(scene.entity());
                if segments.len() == 1 {
                    return Ok(vec![all]);
                }
                self.follow_segments(vec![all], &segments[1..], scene, &mut results)?;
            }
            Key::Variable(name) => {
                let Some(start) = self.variable(name, scene)? else {
                    return Ok(results);
                };
                let mut stay = first.clone();
                stay.key = Key::None;
                if segments.len() == 1 && stay == Segment::default() {
                    return Ok(vec![start]);
                }
                let mut rest = vec![stay];
                rest.extend_from_slice(&segments[1..]);
                self.follow_segments(vec![start], &rest, scene, &mut results)?;
            }
            Key::Name(name) if name.starts_with('.') => {
                self.follow_segments(vec![scene.current.clone()], &segments, scene, &mut results)?;
            }
            _ if scene.looping => {
                self.follow_segments(vec![scene.current.clone()], &segments, scene, &mut results)?;
            }
            _ => {
                // A bare name is looked up on the entity and then on its ancestors; the first match wins.
                let mut segments = segments.to_vec();
                segments[0].modifier = Modifier::First;
                let start = self.ancestors(scene.entity());
                let start = match segments[0].key {
                    Key::Index(_) => {
                        vec![LazyValue::Value(self.values_of(start)?.into())]
                    }
                    _ => start,
                };
                self.follow_segments(start, &segments, scene, &mut results)?;
            }
        }
        Ok(results)
    }

    /// Returns the parsed segments of a path, from the cache if it was parsed before.
    fn segments(&self, text: &str) -> Result<Arc<[Segment]>, Error> {
        if let Some(known) = self.path_cache().get(text) {
            return Ok(known);
        }
        let segments: Arc<[Segment]> = path::parse(text)?.into();
        self.path_cache().put(text, Arc::clone(&segments));
        Ok(segments)
    }

    fn ancestors(&self, of: Handle) -> Vec<LazyValue> {
        match self.special(of, ".ancestors") {
            Some(Value::List(items)) => items.iter().cloned().map(LazyValue::Value).collect(),
            Some(other) => vec![LazyValue::Value(other)],
            None => vec![LazyValue::Entity(of)],
        }
    }

    /// Returns the value of a special key of an entity and records the read.
    pub(super) fn special(&self, of: Handle, key: &str) -> Option<Value> {
        let value = self.scope().special(of, key);
        let read = Read::Special {
            of,
            key: self.memo().intern_name(key),
        };
        self.tracker().record_read(read, value.clone());
        value
    }

    /// Follows the segments from each item and appends the results. Returns whether any result was found.
    fn follow_segments(
        &self,
        from: Vec<LazyValue>,
        segments: &[Segment],
        scene: &Scene,
        results: &mut Vec<LazyValue>,
    ) -> Result<bool, Error> {
        let Some((segment, after)) = segments.split_first() else {
            results.extend(from);
            return Ok(true);
        };
        self.tracker().count_steps(from.len())?;
        let first = segment.modifier == Modifier::First;
        let mut found_any = false;
        for item in from {
            let (next, rest) = if is_single(&item, segment) {
                let next = self.follow_segment(item, segment, scene)?;
                (next.into_iter().collect(), after)
            } else if segment.key == Key::Every {
                match self.values(&item)? {
                    Some(values) if !item.is_list() => (values, after),
                    _ => continue,
                }
            } else {
                (self.values(&item)?.unwrap_or_default(), segments)
            };
            if next.is_empty() {
                continue;
            }
            let found = if rest.is_empty() {
                results.extend(next);
                true
            } else {
                self.follow_segments(next, rest, scene, results)?
            };
            found_any |= found;
            if found && first {
                break;
            }
        }
        Ok(found_any)
    }

    /// Follows one segment from one item. Returns None without a match.
    fn follow_segment(
        &self,
        item: LazyValue,
        segment: &Segment,
        scene: &Scene,
    ) -> Result<Option<LazyValue>, Error> {
        let item = match &segment.key {
            Key::None => item,
            key => match self.resolve_key(&item, key, scene)? {
                Some(item) => item,
                None => return Ok(None),
            },
        };
        for filter in &segment.filters {
            let Some(first) = filter.first() else {
                continue;
            };
            let start = if is_single(&item, first) || !item.is_list() {
                vec![item.clone()]
            } else {
                self.values(&item)?.unwrap_or_default()
            };
            let mut results = Vec::new();
            let found =
                self.follow_segments(start, filter, scene, &mut results)? && !results.is_empty();
            if found == (first.modifier == Modifier::Not) {
                return Ok(None);
            }
        }
        if let Some(test) = &segment.test
            && !self.passes_test(&item, &segment.key, test, scene)?
        {
            return Ok(None);
        }
        Ok(Some(item))
    }

    fn passes_test(
        &self,
        item: &LazyValue,
        key: &Key,
        test: &ValueTest,
        scene: &Scene,
    ) -> Result<bool, Error> {
        let value = self.value_of(item.clone())?;
        if let Some(name) = test.value.strip_prefix('$') {
            let Some(other) = self.variable(name, scene)? else {
                return Ok(test.negated);
            };
            return Ok((value == self.value_of(other)?) != test.negated);
        }
        let enumeration = matches!(key, Key::Name(name) if ENUMERATIONS.contains(&&**name));
        let equal = !enumeration && equals_text(&value, &test.value);
        Ok(equal != test.negated)
    }

    /// Returns the item that a key leads to.
    fn resolve_key(
        &self,
        item: &LazyValue,
        key: &Key,
        scene: &Scene,
    ) -> Result<Option<LazyValue>, Error> {
        match key {
            Key::None | Key::Every => Ok(Some(item.clone())),
            Key::Index(index) => self.get_key(item, &index.to_string(), Some(*index), scene),
            Key::Name(name) => self.get_key(item, name, None, scene),
            Key::Variable(name) => {
                let Some(var) = self.variable(name, scene)? else {
                    return Ok(None);
                };
                match self.value_of(var)?.reveal() {
                    Value::Int(index) => {
                        self.get_key(item, &index.to_string(), Some(*index), scene)
                    }
                    Value::Str(name) => self.get_key(item, name, None, scene),
                    _ => Ok(None),
                }
            }
        }
    }

    /// Returns the item at a key of another item. `index` is the key as a list index, if it is a number.
    pub(super) fn get_key(
        &self,
        item: &LazyValue,
        name: &str,
        index: Option<i64>,
        scene: &Scene,
    ) -> Result<Option<LazyValue>, Error> {
        match item {
            LazyValue::AllInstances(from) => {
                Ok(self.find_instance(*from, name).map(LazyValue::Entity))
            }
            LazyValue::Connections(connections) => {
                Ok(self.connection_at(connections, name).map(LazyValue::Value))
            }
            LazyValue::Super(of, level) => self.inherited(*of, name, *level),
            LazyValue::Template(of) => Ok(self.template_key(*of, name).map(LazyValue::Value)),
            LazyValue::Inputs(inputs, scene) => Ok(self
                .evaluate_input(inputs, name, scene)?
                .map(LazyValue::Value)),
            LazyValue::Topology(root) => match name {
                "inputs" | "outputs" => self.attribute_item(*root, name),
                _ => {
                    let names = self.special(*root, ".topology");
                    let known = names.as_ref().and_then(|names| names.get(name)).cloned();
                    let found = || self.find_instance(*root, name).map(LazyValue::Entity);
                    Ok(known.map(LazyValue::Value).or_else(found))
                }
            },
            LazyValue::Lazy(lazy) => match &lazy.raw {
                Value::Map(map) => match map.get(name) {
                    Some(raw) => self.lazy_element(lazy, raw.clone(), name).map(Some),
                    None => Ok(None),
                },
                Value::List(items) => {
                    let Some(place) = list_index(items.len(), index) else {
                        return Ok(None);
                    };
                    let raw = items[place].clone();
                    self.lazy_element(lazy, raw, &place.to_string()).map(Some)
                }
                _ => Ok(None),
            },
            LazyValue::Value(Value::Entity(of)) => self.get_entity_key(of.handle(), name, scene),
            LazyValue::Attributes(of) | LazyValue::Entity(of) => {
                self.get_entity_key(*of, name, scene)
            }
            LazyValue::Value(marked @ (Value::Sensitive(_) | Value::Data(_))) => {
                let inner = LazyValue::Value(marked.reveal().clone());
                let found = self.get_key(&inner, name, index, scene)?;
                let value = found.map(|found| self.value_of(found)).transpose()?;
                Ok(value.map(|value| LazyValue::Value(value.marked(marked.own_marks()))))
            }
            LazyValue::Value(Value::External(external)) => {
                self.get_external_part(external, name, index)
            }
            LazyValue::Value(value) => Ok(get_value_key(value, name, index).map(LazyValue::Value)),
            LazyValue::Break | LazyValue::Continue => Ok(None),
        }
    }

    fn get_entity_key(
        &self,
        of: Handle,
        name: &str,
        scene: &Scene,
    ) -> Result<Option<LazyValue>, Error> {
        if !name.starts_with('.') {
            return self.attribute_item(of, name);
        }
        match name {
            "." => Ok(Some(LazyValue::Entity(of))),
            ".all" => Ok(Some(LazyValue::AllInstances(of))),
            ".super" => {
                let level = match scene.context.vars.get(".super") {
                    Some(Var::Value(Value::Int(level))) => u32::try_from(*level).unwrap_or(0),
                    _ => 0,
                };
                Ok(Some(LazyValue::Super(of, level + 1)))
            }
            ".attributes" => Ok(Some(LazyValue::Attributes(of))),
            ".template" => Ok(Some(LazyValue::Template(of))),
            ".path" => self
                .path_of(of, scene)
                .map(|path| path.map(LazyValue::Value)),
            _ => match self.special(of, name) {
                Some(value) => Ok(Some(LazyValue::Value(value))),
                // The properties of an artifact are special keys of it as well.
                None if self.scope().is_type(of, "tosca.artifacts.Root") => {
                    self.attribute_item(of, &name[1..])
                }
                None => Ok(None),
            },
        }
    }

    /// Returns a property of the template of an entity. Templates have the same few as in Unfurl.
    fn template_key(&self, of: Handle, name: &str) -> Option<Value> {
        match name {
            "name" | ".name" | "uri" | ".uri" => self.special(of, ".template"),
            "type" | ".type" => self.special(of, ".type"),
            _ => None,
        }
    }

    /// Returns the connection of a name, or the first one of a type. The type may lack its namespace.
    fn connection_at(&self, connections: &Map, key: &str) -> Option<Value> {
        if let Some(named) = connections.get(key) {
            return Some(named.clone());
        }
        let is_of_type = |connection: &&Value| {
            let Some(of) = connection.as_entity() else {
                return false;
            };
            let own = self.scope().special(of, ".type");
            let own = own.as_ref().and_then(Value::as_str).unwrap_or_default();
            let local = own.rsplit('.').next().unwrap_or_default();
            local == key || self.scope().is_type(of, key)
        };
        connections.values().find(is_of_type).cloned()
    }

    /// Returns the path of an artifact's file as an external value that stands for the files there.
    fn path_of(&self, of: Handle, scene: &Scene) -> Result<Option<Value>, Error> {
        let path = self.special(of, ".path");
        let Some(text) = path.as_ref().and_then(Value::as_str) else {
            return Ok(path);
        };
        absolute_path(self, scene, text, None, false).map(Some)
    }

    fn inherited(&self, of: Handle, name: &str, level: u32) -> Result<Option<LazyValue>, Error> {
        let Some(attribute) = self.scope().inherited(of, name, level) else {
            return Ok(None);
        };
        let mut scene = self.owner_scene(attribute.owner);
        let above = Value::Int(level.into());
        scene.context.vars.set(".super", above);
        let value = self.evaluate_raw(&attribute.raw, &scene, None)?;
        let value = if attribute.sensitive {
            value.sensitive()
        } else {
            value
        };
        Ok(Some(LazyValue::Value(value)))
    }

    /// Returns the instance with a name and records the read.
    pub(super) fn find_instance(&self, from: Handle, name: &str) -> Option<Handle> {
        let found = self.scope().find(from, name);
        let read = Read::Instance {
            from,
            name: self.memo().intern_name(name),
        };
        self.tracker()
            .record_read(read, found.map(|of| self.scope().reference(of)));
        found
    }

    /// Returns a part of an external value. A part selected from a file or path keeps the digest of the file
    /// or path.
    fn get_external_part(
        &self,
        external: &Arc<External>,
        name: &str,
        index: Option<i64>,
    ) -> Result<Option<LazyValue>, Error> {
        let part = match external.parts.get(name) {
            Some(part) => part.clone(),
            None if external.kind == ExternalKind::File && name == "contents" => {
                self.contents(external)?
            }
            None => return Ok(get_value_key(&external.value, name, index).map(LazyValue::Value)),
        };
        if external.kind == ExternalKind::Other {
            return Ok(Some(LazyValue::Value(part)));
        }
        let mut selected = External::clone(external);
        selected.value = part;
        selected.parts.clear();
        Ok(Some(LazyValue::Value(Value::External(Arc::new(selected)))))
    }

    /// Returns the values of a map or list in order. None for any other item.
    pub(super) fn values(&self, item: &LazyValue) -> Result<Option<Vec<LazyValue>>, Error> {
        let values = match item {
            LazyValue::AllInstances(from) => self
                .root_and_instances(*from)
                .into_iter()
                .map(LazyValue::Entity)
                .collect(),
            LazyValue::Attributes(of) => {
                let mut values = Vec::new();
                for name in self.scope().attribute_names(*of) {
                    values.extend(self.attribute_item(*of, &name)?);
                }
                values
            }
            LazyValue::Lazy(lazy) => match &lazy.raw {
                Value::Map(map) => map
                    .iter()
                    .map(|(key, raw)| self.lazy_element(lazy, raw.clone(), key))
                    .collect::<Result<_, Error>>()?,
                Value::List(items) => (items.iter().enumerate())
                    .map(|(place, raw)| self.lazy_element(lazy, raw.clone(), &place.to_string()))
                    .collect::<Result<_, Error>>()?,
                _ => return Ok(None),
            },
            LazyValue::Value(value) => {
                let marks = value.own_marks();
                let mark = |item: &Value| LazyValue::Value(item.clone().marked(marks));
                match value.reveal() {
                    Value::Map(map) => map.values().map(mark).collect(),
                    Value::List(items) => items.iter().map(mark).collect(),
                    _ => return Ok(None),
                }
            }
            LazyValue::Inputs(inputs, scene) => {
                let mut values = Vec::new();
                for name in inputs.names() {
                    values.extend(
                        self.evaluate_input(inputs, name, scene)?
                            .map(LazyValue::Value),
                    );
                }
                values
            }
            LazyValue::Connections(connections) => connections
                .values()
                .cloned()
                .map(LazyValue::Value)
                .collect(),
            LazyValue::Topology(_)
            | LazyValue::Entity(_)
            | LazyValue::Template(_)
            | LazyValue::Super(..)
            | LazyValue::Break
            | LazyValue::Continue => return Ok(None),
        };
        Ok(Some(values))
    }

    /// Returns the value that a variable refers to.
    pub(super) fn variable(&self, name: &str, scene: &Scene) -> Result<Option<LazyValue>, Error> {
        let item = match scene.context.vars.get(name) {
            Some(Var::Value(value)) => LazyValue::Value(value.clone()),
            Some(Var::Lazy(raw)) => {
                let _level = self.tracker().enter_level()?;
                LazyValue::Value(self.evaluate_raw(raw, scene, None)?)
            }
            Some(Var::Attributes(of)) => {
                self.record_entity(*of);
                LazyValue::Attributes(*of)
            }
            Some(Var::Connections(connections)) => LazyValue::Connections(Arc::clone(connections)),
            Some(Var::Bound(bound)) => bound.0.clone(),
            Some(Var::Inputs(inputs)) => {
                LazyValue::Inputs(Arc::clone(inputs), Arc::new(scene.clone()))
            }
            Some(Var::Deferred(value)) => LazyValue::Value(self.foreign(value.load()?)),
            Some(Var::Parts(raw)) => LazyValue::Lazy(Arc::new(LazyCollection {
                raw: raw.clone(),
                scene: scene.clone(),
                slot: None,
            })),
            None => match name {
                "true" => LazyValue::Value(true.into()),
                "false" => LazyValue::Value(false.into()),
                "null" => LazyValue::Value(Value::Null),
                _ => return Ok(None),
            },
        };
        Ok(Some(item))
    }
}

/// Whether a segment applies to an item itself instead of to each element of a list.
fn is_single(item: &LazyValue, segment: &Segment) -> bool {
    match segment.key {
        Key::Every => false,
        Key::Index(_) => true,
        _ => !item.is_list(),
    }
}

fn list_index(length: usize, index: Option<i64>) -> Option<usize> {
    let index = index?;
    let place = if index < 0 {
        length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
    } else {
        usize::try_from(index).ok()?
    };
    (place < length).then_some(place)
}

fn get_value_key(value: &Value, name: &str, index: Option<i64>) -> Option<Value> {
    match value {
        Value::Map(map) => map.get(name).cloned(),
        Value::List(items) => list_index(items.len(), index).map(|place| items[place].clone()),
        Value::Str(text) => {
            let place = list_index(text.chars().count(), index)?;
            let character = text.chars().nth(place)?;
            Some(Value::from(character.to_string()))
        }
        _ => None,
    }
}

/// Whether a value equals a text, which is first converted to the type of the value.
fn equals_text(value: &Value, text: &str) -> bool {
    match value.reveal() {
        Value::Str(own) => **own == *text,
        Value::Int(own) => text.trim().replace('_', "").parse() == Ok(*own),
        Value::Float(own) => text.trim().parse() == Ok(*own),
        Value::Bool(own) => match text {
            "true" | "True" => *own,
            "false" | "False" => !*own,
            other => *own != other.is_empty(),
        },
        Value::Big(own) => **own == *text.trim(),
        Value::External(external) => equals_text(&external.value, text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::evaluate_to_text;

    /// Lists each expression with its value.
    fn table(expressions: &[&str]) -> String {
        let line = |expression: &&str| {
            format!(
                "{expression} => {}",
                evaluate_to_text(&format!("{{eval: '{expression}'}}"))
            )
        };
        expressions.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "a table of expressions and what they give"
    )]
    fn paths_lead_where_upstreams_lead() {
        let table = table(&[
            "::host::ip",
            "::host::tags::1",
            "::host::tags",
            "::host::list::n",
            "::host::list[name=x]::n",
            "::host::list[name!=x]::n",
            "::host::list[!missing]::n",
            "::host::list?::n",
            "::host::m::*::v",
            "::host::m::*[v=2]::v",
            "::host::nope",
            "::*::.name",
            "::app::.hosted_on::ip",
            "::app::.targets::host::ip",
            "::host::.sources::host::port",
            "::*[.type=unfurl.nodes.Generic]::.name",
            "::app::..::.name",
            "::app::.ancestors::.name",
            "::host::.instances::.name",
            "::app[.status=1]::.name",
            "::root::outputs::abs",
            "::host[ip=10.0.0.1]::tags::0",
            "::app[port=80]::.name",
            "::app[port!=80]::.name",
            "::app[flag=false]::.name",
            "::app::.key",
            "port",
            "ip",
            ".name",
            "::nothing::x",
            "$nothing",
            "::host::ip ",
            "::host::m[k1[v=1]]::k2::v",
            "::host::list[name=y]::n",
            "::host::list[n!=1]::n",
            "::host::list::name!=x",
            "::host::ip!=x",
        ]);
        insta::assert_snapshot!(table, @"
        ::host::ip => '10.0.0.1'
        ::host::tags::1 => 'b'
        ::host::tags => ['a', 'b', 'c']
        ::host::list::n => [1, 2, 3]
        ::host::list[name=x]::n => [1, 2, 3]
        ::host::list[name!=x]::n => [1, 2, 3]
        ::host::list[!missing]::n => [1, 2, 3]
        ::host::list?::n => [1, 2, 3]
        ::host::m::*::v => [1, 2]
        ::host::m::*[v=2]::v => [1, 2]
        ::host::nope => None
        ::*::.name => ['root', 'host', 'app']
        ::app::.hosted_on::ip => '10.0.0.1'
        ::app::.targets::host::ip => '10.0.0.1'
        ::host::.sources::host::port => 80
        ::*[.type=unfurl.nodes.Generic]::.name => ['root', 'host', 'app']
        ::app::..::.name => 'host'
        ::app::.ancestors::.name => ['app', 'host', 'root']
        ::host::.instances::.name => 'app'
        ::app[.status=1]::.name => None
        ::root::outputs::abs => '10.0.0.1'
        ::host[ip=10.0.0.1]::tags::0 => 'a'
        ::app[port=80]::.name => 'app'
        ::app[port!=80]::.name => None
        ::app[flag=false]::.name => 'app'
        ::app::.key => '::app'
        port => 80
        ip => '10.0.0.1'
        .name => 'app'
        ::nothing::x => None
        $nothing => None
        ::host::ip  => '10.0.0.1'
        ::host::m[k1[v=1]]::k2::v => 2
        ::host::list[name=y]::n => [1, 2, 3]
        ::host::list[n!=1]::n => [1, 2, 3]
        ::host::list::name!=x => 'y'
        ::host::ip!=x => '10.0.0.1'
        ");
    }
}
