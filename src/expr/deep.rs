//! Raw values into values: attributes, elements, expressions.

use std::sync::Arc;

use crate::value::{Handle, List, Map, Value};

use super::context::{Bound, Context, Var};
use super::error::{Error, Site};
use super::evaluator::Evaluator;
use super::form::{Form, Strict, is_expression, is_template, needs_evaluation};
use super::item::{Item, Lazy, Scene};
use super::memo::{Entry, Slot};
use super::ports::Place;
use super::reads::Read;

impl Evaluator {
    /// An attribute as it is evaluated on access: maps and lists stay lazy.
    pub(super) fn attribute_item(&self, of: Handle, name: &str) -> Result<Option<Item>, Error> {
        let name = self.memo().name(name);
        if let Some(found) = self.scope().elsewhere(of, &name) {
            // No job changes it, and no record names it.
            return Ok(found?.map(Item::Value));
        }
        let Some(attribute) = self.scope().attribute(of, &name) else {
            self.tracker().read(Read::Absent { of, name }, None);
            return Ok(None);
        };
        let read = Read::Attribute {
            of,
            name: Arc::clone(&name),
        };
        let raw = attribute.raw;
        let slot = Slot {
            of,
            name,
            path: None,
        };
        if !matches!(raw, Value::Str(_) | Value::List(_) | Value::Map(_)) {
            let value = raw.sensitive_if(attribute.sensitive);
            self.tracker().read(read, Some(value.clone()));
            return Ok(Some(match value {
                // The inputs and outputs of a topology are a map of values.
                Value::Entity(held) if of == self.scope().root(of) => Item::Attributes(held),
                value => Item::Value(value),
            }));
        }
        self.tracker().read(read.clone(), None);
        if let Some(scene) = self.task_scene(of) {
            return self
                .apart(&slot, raw, &scene, attribute.sensitive)
                .map(Some);
        }
        let item = self.element(
            raw,
            &|| self.owner_scene(attribute.owner),
            Some(slot),
            attribute.sensitive,
        )?;
        if let Item::Value(value) = &item {
            self.tracker().read(read, Some(value.clone()));
        }
        Ok(Some(item))
    }

    /// An attribute that is evaluated for a task and not remembered.
    fn apart(
        &self,
        slot: &Slot,
        raw: Value,
        scene: &Scene,
        sensitive: bool,
    ) -> Result<Item, Error> {
        if !self.tracker().begin_apart(slot) {
            return Ok(Item::Value(Value::Null));
        }
        let level = self.tracker().enter();
        let item = level.and_then(|_level| self.element(raw, &|| scene.clone(), None, sensitive));
        self.tracker().end_apart(slot);
        let item = item?;
        if let Item::Value(value) = &item {
            let (of, name) = (slot.of, Arc::clone(&slot.name));
            let read = Read::Attribute { of, name };
            self.tracker().read(read, Some(value.clone()));
        }
        Ok(item)
    }

    /// The surroundings in which the attributes of an entity are evaluated.
    pub(super) fn owner_scene(&self, owner: Handle) -> Scene {
        let mut context = Context::new(owner);
        context.base_dir = self.scope().base_dir(owner);
        Scene::new(context)
    }

    /// An element of something: expressions are evaluated, maps and lists with some stay lazy.
    fn element(
        &self,
        raw: Value,
        scene: &dyn Fn() -> Scene,
        slot: Option<Slot>,
        sensitive: bool,
    ) -> Result<Item, Error> {
        let mark = |value: Value| if sensitive { value.sensitive() } else { value };
        match &raw {
            Value::Str(text) if !is_template(text) => return Ok(Item::Value(mark(raw))),
            Value::Str(_) | Value::List(_) | Value::Map(_) => {}
            _ => return Ok(Item::Value(mark(raw))),
        }
        let Some(slot) = slot else {
            if !needs_evaluation(&raw) {
                return Ok(Item::Value(mark(raw)));
            }
            if matches!(raw, Value::Str(_)) || is_expression(&raw) || sensitive {
                return Ok(Item::Value(mark(self.deep(&raw, &scene(), None)?)));
            }
            let scene = scene();
            let lazy = Lazy { raw, scene, slot };
            return Ok(Item::Lazy(Arc::new(lazy)));
        };
        if let Some(value) = self.memo().get(&slot, self.scope()) {
            self.tracker().uses(&slot);
            return Ok(Item::Value(value));
        }
        let container = !matches!(raw, Value::Str(_)) && !is_expression(&raw);
        if container && !sensitive && needs_evaluation(&raw) {
            let lazy = Lazy {
                raw,
                scene: scene(),
                slot: Some(slot),
            };
            return Ok(Item::Lazy(Arc::new(lazy)));
        }
        self.slot_value(&slot, &raw, &scene(), sensitive)
            .map(Item::Value)
    }

    /// Evaluates a slot as a whole, and remembers it.
    fn slot_value(
        &self,
        slot: &Slot,
        raw: &Value,
        scene: &Scene,
        sensitive: bool,
    ) -> Result<Value, Error> {
        if let Some(value) = self.memo().get(slot, self.scope()) {
            self.tracker().uses(slot);
            return Ok(value);
        }
        let level = self.tracker().enter()?;
        let generation = self.scope().generation();
        if !self.tracker().begin(slot) {
            return Ok(Value::Null);
        }
        let value = self.deep(raw, scene, Some(slot));
        let frame = self.tracker().end(slot);
        drop(level);
        let value = match value {
            Ok(value) if sensitive => value.sensitive(),
            Ok(value) => value,
            Err(error) => {
                // What was read before the error decides when to try again.
                self.tracker().reads(&frame.reads);
                frame
                    .slots
                    .iter()
                    .for_each(|slot| self.tracker().uses(slot));
                return Err(error.within(Site::Attribute(slot.of, Arc::clone(&slot.name))));
            }
        };
        let entry = Entry {
            value: value.clone(),
            reads: frame.reads,
            slots: frame.slots,
            generation,
        };
        self.memo().put(slot.clone(), entry);
        self.tracker().uses(slot);
        Ok(value)
    }

    /// Evaluates a raw value as a whole.
    pub(super) fn deep(
        &self,
        raw: &Value,
        scene: &Scene,
        slot: Option<&Slot>,
    ) -> Result<Value, Error> {
        if let Some(form) = Form::of(raw) {
            let results = self.resolve(&form, scene)?;
            return self.collect(&form, results);
        }
        match raw {
            Value::Str(text) if is_template(text) => self.template(text, scene),
            Value::Map(map) if needs_evaluation(raw) => {
                let mut values = Map::with_capacity(map.len());
                for (key, raw) in map.iter() {
                    let value = self.deep_element(raw, scene, slot.map(|slot| (slot, &**key)))?;
                    values.insert(Arc::clone(key), value);
                }
                Ok(values.into())
            }
            Value::List(items) if needs_evaluation(raw) => {
                let mut values = List::with_capacity(items.len());
                for (place, raw) in items.iter().enumerate() {
                    let value = match slot {
                        Some(slot) => {
                            self.deep_element(raw, scene, Some((slot, &place.to_string())))?
                        }
                        None => self.deep(raw, scene, None)?,
                    };
                    values.push(value);
                }
                Ok(values.into())
            }
            _ => Ok(raw.clone()),
        }
    }

    fn deep_element(
        &self,
        raw: &Value,
        scene: &Scene,
        slot: Option<(&Slot, &str)>,
    ) -> Result<Value, Error> {
        if !needs_evaluation(raw) {
            return Ok(raw.clone());
        }
        match slot {
            Some((slot, key)) => self.slot_value(&slot.part(key), raw, scene, false),
            None => self.deep(raw, scene, None),
        }
    }

    /// An element of a map or list that is still raw.
    pub(super) fn lazy_element(&self, lazy: &Lazy, raw: Value, key: &str) -> Result<Item, Error> {
        let slot = lazy.slot.as_ref().map(|slot| slot.part(key));
        self.element(raw, &|| lazy.scene.clone(), slot, false)
    }

    /// The value an item becomes.
    pub(super) fn value_of(&self, item: Item) -> Result<Value, Error> {
        match item {
            Item::Value(value) => Ok(value),
            Item::Lazy(lazy) => match &lazy.slot {
                Some(slot) => self.slot_value(slot, &lazy.raw, &lazy.scene, false),
                None => self.deep(&lazy.raw, &lazy.scene, None),
            },
            Item::Attributes(of) => {
                let _level = self.tracker().enter()?;
                let mut values = Map::new();
                for name in self.scope().attribute_names(of) {
                    let value = self.attribute(of, &name)?.unwrap_or_default();
                    values.insert(name, value);
                }
                Ok(values.into())
            }
            Item::All(from) => {
                let mut values = Map::new();
                for handle in self.every_instance(from) {
                    values.insert(self.name_of(handle), Value::Entity(handle));
                }
                Ok(values.into())
            }
            Item::Inputs(inputs, scene) => {
                let mut values = Map::new();
                for name in inputs.names() {
                    let value = self.input_of(&inputs, name, &scene)?;
                    values.insert(Arc::clone(name), value.unwrap_or_default());
                }
                Ok(values.into())
            }
            Item::Topology(root) => self.value_of(Item::Attributes(root)),
            Item::Super(..) | Item::Break | Item::Continue => Ok(Value::Null),
        }
    }

    /// The root and all instances of the topology of an entity.
    pub(super) fn every_instance(&self, from: Handle) -> Vec<Handle> {
        let instances = self.scope().instances(from);
        let count = i64::try_from(instances.len()).unwrap_or(i64::MAX);
        self.tracker()
            .read(Read::Instances(from), Some(count.into()));
        let mut every = vec![self.scope().root(from)];
        every.extend(
            instances
                .into_iter()
                .filter(|handle| *handle != every[0])
                .collect::<Vec<_>>(),
        );
        every
    }

    /// The name of an entity.
    pub(super) fn name_of(&self, handle: Handle) -> Arc<str> {
        match self.scope().special(handle, ".name") {
            Some(Value::Str(name)) => name,
            _ => self.scope().key(handle),
        }
    }

    /// For whom `get_dir` is asked: the task, or the instance whose attribute is evaluated.
    pub(super) fn place(&self, scene: &Scene) -> Place {
        if scene.context.place.instance.is_some() && scene.entity() == scene.context.target {
            return scene.context.place.clone();
        }
        Place {
            instance: Some(self.name_of(scene.entity())),
            operation: None,
        }
    }

    /// Evaluates the expressions in a value, but no templates.
    pub(super) fn evaluate_quoted(&self, value: &Value, scene: &Scene) -> Result<Value, Error> {
        if is_expression(value) {
            return self.deep(value, scene, None);
        }
        match value {
            Value::List(items) if items.iter().any(needs_evaluation) => {
                let items = items.iter().map(|item| self.evaluate_quoted(item, scene));
                Ok(items.collect::<Result<List, Error>>()?.into())
            }
            Value::Map(map) if map.values().any(needs_evaluation) => {
                let items = map
                    .iter()
                    .map(|(key, item)| Ok((Arc::clone(key), self.evaluate_quoted(item, scene)?)));
                Ok(items.collect::<Result<Map, Error>>()?.into())
            }
            _ => Ok(value.clone()),
        }
    }

    /// The results of an expression.
    pub(super) fn resolve(&self, form: &Form<'_>, scene: &Scene) -> Result<Vec<Item>, Error> {
        let mut inner = scene.clone();
        for (name, raw) in form.vars.into_iter().flatten() {
            let var = if needs_evaluation(raw) {
                Var::Lazy(raw.clone())
            } else {
                Var::Value(raw.clone())
            };
            inner.context.vars.set(Arc::clone(name), var);
        }
        if let Some(Strict::Undefined(strict)) = form.strict {
            inner.context.strict = strict;
        }
        if let Some(base_dir) = form.base_dir.filter(|base_dir| !base_dir.is_empty()) {
            inner.context.base_dir = base_dir.into();
        }
        if form.vars.is_some_and(|vars| vars.contains_key("start"))
            && let Some(start) = self.variable("start", &inner)?
        {
            inner.current = start;
        } else {
            let start = Var::Bound(Bound(inner.current.clone()));
            inner.context.vars.set("start", start);
        }
        let results = self.results(form.source, &inner)?;
        match form.foreach.or(form.select) {
            Some(each) if !results.is_empty() => self.for_each(each, results, &inner),
            _ => Ok(results),
        }
    }

    /// The value that results become: none null, one itself, more a list.
    fn collect(&self, form: &Form<'_>, results: Vec<Item>) -> Result<Value, Error> {
        let mut values = self.list_of(results)?;
        let demand = |demand| Error::Required {
            expression: format!("{:?}", form.source),
            demand,
        };
        if form.foreach.is_some() {
            return Ok(values.into());
        }
        match (values.len(), form.strict) {
            (0, Some(Strict::Required | Strict::NotNull)) => Err(demand("return results")),
            (0, _) => Ok(Value::Null),
            (1, Some(Strict::NotNull)) if values[0].is_null() => Err(demand("not be null")),
            (1, _) => Ok(values.swap_remove(0)),
            _ => Ok(values.into()),
        }
    }
}
