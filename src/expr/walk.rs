//! Walks paths from value to value.

use std::sync::Arc;

use crate::value::{External, ExternalKind, Handle, Value};

use super::context::Var;
use super::error::Error;
use super::evaluator::Evaluator;
use super::functions::absolute_path;
use super::item::{Item, Scene};
use super::path::{self, Key, Modifier, Segment, Test};
use super::reads::Read;

/// Special keys that give an enumeration upstream: no text is ever equal to one.
const ENUMERATIONS: [&str; 5] = [
    ".status",
    ".state",
    ".local_status",
    ".priority",
    ".local_state",
];

impl Evaluator {
    /// The results of a path.
    pub(super) fn path(&self, text: &str, scene: &Scene) -> Result<Vec<Item>, Error> {
        let segments = self.segments(text)?;
        let Some(first) = segments.first() else {
            return Ok(Vec::new());
        };
        let mut results = Vec::new();
        match &first.key {
            Key::None if first.filters.is_empty() => {
                let all = Item::All(scene.entity());
                if segments.len() == 1 {
                    return Ok(vec![all]);
                }
                self.walk(vec![all], &segments[1..], scene, &mut results)?;
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
                self.walk(vec![start], &rest, scene, &mut results)?;
            }
            Key::Name(name) if name.starts_with('.') => {
                self.walk(vec![scene.current.clone()], &segments, scene, &mut results)?;
            }
            _ if scene.looping => {
                self.walk(vec![scene.current.clone()], &segments, scene, &mut results)?;
            }
            _ => {
                // A bare name is looked for upwards, and the first that has it is enough.
                let mut segments = segments.to_vec();
                segments[0].modifier = Modifier::First;
                let start = self.ancestors(scene.entity());
                let start = match segments[0].key {
                    Key::Index(_) => {
                        vec![Item::Value(self.list_of(start)?.into())]
                    }
                    _ => start,
                };
                self.walk(start, &segments, scene, &mut results)?;
            }
        }
        Ok(results)
    }

    /// A path, read once.
    fn segments(&self, text: &str) -> Result<Arc<[Segment]>, Error> {
        if let Some(known) = self.paths().get(text) {
            return Ok(known);
        }
        let segments: Arc<[Segment]> = path::parse(text)?.into();
        self.paths().put(text, Arc::clone(&segments));
        Ok(segments)
    }

    fn ancestors(&self, of: Handle) -> Vec<Item> {
        match self.special(of, ".ancestors") {
            Some(Value::List(items)) => items.iter().cloned().map(Item::Value).collect(),
            Some(other) => vec![Item::Value(other)],
            None => vec![Item::entity(of)],
        }
    }

    /// A special key of an entity; the read is recorded.
    pub(super) fn special(&self, of: Handle, key: &str) -> Option<Value> {
        let value = self.scope().special(of, key);
        let read = Read::Special {
            of,
            key: self.memo().name(key),
        };
        self.tracker().read(read, value.clone());
        value
    }

    /// Takes steps from each item; says whether anything was found.
    fn walk(
        &self,
        from: Vec<Item>,
        segments: &[Segment],
        scene: &Scene,
        results: &mut Vec<Item>,
    ) -> Result<bool, Error> {
        let Some((segment, after)) = segments.split_first() else {
            results.extend(from);
            return Ok(true);
        };
        self.tracker().step(from.len())?;
        let first = segment.modifier == Modifier::First;
        let mut found_any = false;
        for item in from {
            let (next, rest) = if is_single(&item, segment) {
                let next = self.step(item, segment, scene)?;
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
                self.walk(next, rest, scene, results)?
            };
            found_any |= found;
            if found && first {
                break;
            }
        }
        Ok(found_any)
    }

    /// One step from one item, if it leads somewhere.
    fn step(&self, item: Item, segment: &Segment, scene: &Scene) -> Result<Option<Item>, Error> {
        let item = match &segment.key {
            Key::None => item,
            key => match self.follow(&item, key, scene)? {
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
            let found = self.walk(start, filter, scene, &mut results)? && !results.is_empty();
            if found == (first.modifier == Modifier::Not) {
                return Ok(None);
            }
        }
        if let Some(test) = &segment.test
            && !self.passes(&item, &segment.key, test, scene)?
        {
            return Ok(None);
        }
        Ok(Some(item))
    }

    fn passes(&self, item: &Item, key: &Key, test: &Test, scene: &Scene) -> Result<bool, Error> {
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

    /// What a key leads to.
    fn follow(&self, item: &Item, key: &Key, scene: &Scene) -> Result<Option<Item>, Error> {
        match key {
            Key::None | Key::Every => Ok(Some(item.clone())),
            Key::Index(index) => self.get(item, &index.to_string(), Some(*index), scene),
            Key::Name(name) => self.get(item, name, None, scene),
            Key::Variable(name) => {
                let Some(var) = self.variable(name, scene)? else {
                    return Ok(None);
                };
                match self.value_of(var)?.reveal() {
                    Value::Int(index) => self.get(item, &index.to_string(), Some(*index), scene),
                    Value::Str(name) => self.get(item, name, None, scene),
                    _ => Ok(None),
                }
            }
        }
    }

    /// What a key of an item leads to. A number may be given as the place in a list.
    pub(super) fn get(
        &self,
        item: &Item,
        name: &str,
        index: Option<i64>,
        scene: &Scene,
    ) -> Result<Option<Item>, Error> {
        match item {
            Item::All(from) => Ok(self.find(*from, name).map(Item::entity)),
            Item::Super(of, level) => self.inherited(*of, name, *level),
            Item::Inputs(inputs, scene) => Ok(self.input_of(inputs, name, scene)?.map(Item::Value)),
            Item::Topology(root) => match name {
                "inputs" | "outputs" => self.attribute_item(*root, name),
                _ => {
                    let names = self.special(*root, ".topology");
                    let known = names.as_ref().and_then(|names| names.get(name)).cloned();
                    let found = || self.find(*root, name).map(Item::entity);
                    Ok(known.map(Item::Value).or_else(found))
                }
            },
            Item::Lazy(lazy) => match &lazy.raw {
                Value::Map(map) => match map.get(name) {
                    Some(raw) => self.lazy_element(lazy, raw.clone(), name).map(Some),
                    None => Ok(None),
                },
                Value::List(items) => {
                    let Some(place) = place_in(items.len(), index) else {
                        return Ok(None);
                    };
                    let raw = items[place].clone();
                    self.lazy_element(lazy, raw, &place.to_string()).map(Some)
                }
                _ => Ok(None),
            },
            Item::Attributes(of) | Item::Value(Value::Entity(of)) => {
                self.get_of_entity(*of, name, scene)
            }
            Item::Value(Value::Sensitive(inner)) => {
                let inner = Item::Value(Value::clone(inner));
                let found = self.get(&inner, name, index, scene)?;
                let value = found.map(|found| self.value_of(found)).transpose()?;
                Ok(value.map(|value| Item::Value(value.sensitive())))
            }
            Item::Value(Value::External(external)) => self.get_of_external(external, name, index),
            Item::Value(value) => Ok(get_of_value(value, name, index).map(Item::Value)),
            Item::Break | Item::Continue => Ok(None),
        }
    }

    fn get_of_entity(&self, of: Handle, name: &str, scene: &Scene) -> Result<Option<Item>, Error> {
        if !name.starts_with('.') {
            return self.attribute_item(of, name);
        }
        match name {
            "." => Ok(Some(Item::entity(of))),
            ".all" => Ok(Some(Item::All(of))),
            ".super" => {
                let level = match scene.context.vars.get(".super") {
                    Some(Var::Value(Value::Int(level))) => u32::try_from(*level).unwrap_or(0),
                    _ => 0,
                };
                Ok(Some(Item::Super(of, level + 1)))
            }
            ".attributes" => Ok(Some(Item::Attributes(of))),
            ".path" => self.path_of(of, scene).map(|path| path.map(Item::Value)),
            _ => match self.special(of, name) {
                Some(value) => Ok(Some(Item::Value(value))),
                // What is said of an artifact is special too.
                None if self.scope().is_type(of, "tosca.artifacts.Root") => {
                    self.attribute_item(of, &name[1..])
                }
                None => Ok(None),
            },
        }
    }

    /// The path of an artifact's file, as a value that stands for what is there.
    fn path_of(&self, of: Handle, scene: &Scene) -> Result<Option<Value>, Error> {
        let path = self.special(of, ".path");
        let Some(text) = path.as_ref().and_then(Value::as_str) else {
            return Ok(path);
        };
        absolute_path(self, scene, text, None, false).map(Some)
    }

    fn inherited(&self, of: Handle, name: &str, level: u32) -> Result<Option<Item>, Error> {
        let Some(attribute) = self.scope().inherited(of, name, level) else {
            return Ok(None);
        };
        let mut scene = self.owner_scene(attribute.owner);
        let above = Value::Int(level.into());
        scene.context.vars.set(".super", above);
        let value = self.deep(&attribute.raw, &scene, None)?;
        let value = if attribute.sensitive {
            value.sensitive()
        } else {
            value
        };
        Ok(Some(Item::Value(value)))
    }

    /// The instance of a name; the read is recorded.
    pub(super) fn find(&self, from: Handle, name: &str) -> Option<Handle> {
        let found = self.scope().find(from, name);
        let read = Read::Instance {
            from,
            name: self.memo().name(name),
        };
        self.tracker().read(read, found.map(Value::Entity));
        found
    }

    /// Parts of external values; what is selected from a file or path still stands for it.
    fn get_of_external(
        &self,
        external: &Arc<External>,
        name: &str,
        index: Option<i64>,
    ) -> Result<Option<Item>, Error> {
        let part = match external.parts.get(name) {
            Some(part) => part.clone(),
            None if external.kind == ExternalKind::File && name == "contents" => {
                self.contents(external)?
            }
            None => return Ok(get_of_value(&external.value, name, index).map(Item::Value)),
        };
        if external.kind == ExternalKind::Other {
            return Ok(Some(Item::Value(part)));
        }
        let mut selected = External::clone(external);
        selected.value = part;
        selected.parts.clear();
        Ok(Some(Item::Value(Value::External(Arc::new(selected)))))
    }

    /// The values of a map or list, in order; nothing for anything else.
    pub(super) fn values(&self, item: &Item) -> Result<Option<Vec<Item>>, Error> {
        let values = match item {
            Item::All(from) => self
                .every_instance(*from)
                .into_iter()
                .map(Item::entity)
                .collect(),
            Item::Attributes(of) => {
                let mut values = Vec::new();
                for name in self.scope().attribute_names(*of) {
                    values.extend(self.attribute_item(*of, &name)?);
                }
                values
            }
            Item::Lazy(lazy) => match &lazy.raw {
                Value::Map(map) => map
                    .iter()
                    .map(|(key, raw)| self.lazy_element(lazy, raw.clone(), key))
                    .collect::<Result<_, Error>>()?,
                Value::List(items) => (items.iter().enumerate())
                    .map(|(place, raw)| self.lazy_element(lazy, raw.clone(), &place.to_string()))
                    .collect::<Result<_, Error>>()?,
                _ => return Ok(None),
            },
            Item::Value(value) => {
                let mark = |item: &Value| {
                    let secret = matches!(value, Value::Sensitive(_));
                    let item = item.clone();
                    Item::Value(if secret { item.sensitive() } else { item })
                };
                match value.reveal() {
                    Value::Map(map) => map.values().map(mark).collect(),
                    Value::List(items) => items.iter().map(mark).collect(),
                    _ => return Ok(None),
                }
            }
            Item::Inputs(inputs, scene) => {
                let mut values = Vec::new();
                for name in inputs.names() {
                    values.extend(self.input_of(inputs, name, scene)?.map(Item::Value));
                }
                values
            }
            Item::Topology(_) | Item::Super(..) | Item::Break | Item::Continue => return Ok(None),
        };
        Ok(Some(values))
    }

    /// What a variable stands for.
    pub(super) fn variable(&self, name: &str, scene: &Scene) -> Result<Option<Item>, Error> {
        let item = match scene.context.vars.get(name) {
            Some(Var::Value(value)) => Item::Value(value.clone()),
            Some(Var::Lazy(raw)) => {
                let _level = self.tracker().enter()?;
                Item::Value(self.deep(raw, scene, None)?)
            }
            Some(Var::Attributes(of)) => {
                self.touch(*of);
                Item::Attributes(*of)
            }
            Some(Var::Bound(bound)) => bound.0.clone(),
            Some(Var::Inputs(inputs)) => Item::Inputs(Arc::clone(inputs), Arc::new(scene.clone())),
            None => match name {
                "true" => Item::Value(true.into()),
                "false" => Item::Value(false.into()),
                "null" => Item::Value(Value::Null),
                _ => return Ok(None),
            },
        };
        Ok(Some(item))
    }
}

/// Whether a step is taken from an item itself, not from its elements.
fn is_single(item: &Item, segment: &Segment) -> bool {
    match segment.key {
        Key::Every => false,
        Key::Index(_) => true,
        _ => !item.is_list(),
    }
}

fn place_in(length: usize, index: Option<i64>) -> Option<usize> {
    let index = index?;
    let place = if index < 0 {
        length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
    } else {
        usize::try_from(index).ok()?
    };
    (place < length).then_some(place)
}

fn get_of_value(value: &Value, name: &str, index: Option<i64>) -> Option<Value> {
    match value {
        Value::Map(map) => map.get(name).cloned(),
        Value::List(items) => place_in(items.len(), index).map(|place| items[place].clone()),
        Value::Str(text) => {
            let place = place_in(text.chars().count(), index)?;
            let character = text.chars().nth(place)?;
            Some(Value::from(character.to_string()))
        }
        _ => None,
    }
}

/// Whether a value equals a text that is first made a value of the same kind.
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
    use super::super::fixture::shown;

    /// Each expression with what it gives.
    fn table(expressions: &[&str]) -> String {
        let line = |expression: &&str| {
            format!(
                "{expression} => {}",
                shown(&format!("{{eval: '{expression}'}}"))
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
