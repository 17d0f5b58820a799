//! The evaluation of raw values: attributes, elements of maps and lists, and expressions. It memoizes
//! attributes and their parts and keeps maps and lists lazy where possible.

use std::sync::Arc;

use crate::value::{Handle, List, Map, Value};

use super::budget;
use super::context::{BoundItem, Context, Var};
use super::error::{Error, Site};
use super::evaluator::{Evaluator, check_size};
use super::lazy::{LazyCollection, LazyValue, Scene};
use super::memo::{AttributeSlot, MemoEntry};
use super::ports::DirectoryOwner;
use super::reads::Read;
use super::syntax::{Expression, StrictMode, is_expression, is_template, needs_evaluation};
use super::tracker::ReadFrame;

impl Evaluator {
    /// Returns an attribute in its lazy form: expressions are evaluated, maps and lists are not yet.
    pub(super) fn attribute_item(
        &self,
        of: Handle,
        name: &str,
    ) -> Result<Option<LazyValue>, Error> {
        let name = self.memo().intern_name(name);
        if let Some(found) = self.scope().remote_attribute(of, &name) {
            // No job changes an attribute of another ensemble and no record names it, so the read is not
            // recorded.
            return Ok(found?.map(LazyValue::Value));
        }
        let Some(attribute) = self.scope().attribute(of, &name) else {
            self.tracker().record_read(Read::Absent { of, name }, None);
            return Ok(None);
        };
        let read = Read::Attribute {
            of,
            name: Arc::clone(&name),
        };
        let raw = self.without_allowed_mark(attribute.raw);
        let slot = AttributeSlot {
            of,
            name,
            path: None,
        };
        if !matches!(raw, Value::Str(_) | Value::List(_) | Value::Map(_)) {
            let value = raw.sensitive_if(attribute.sensitive);
            self.tracker().record_read(read, Some(value.clone()));
            return Ok(Some(match value {
                // The inputs and outputs of a topology are entities, which appear as a map of values.
                Value::Entity(held) if of == self.scope().root(of) => {
                    LazyValue::Attributes(held.handle())
                }
                value => LazyValue::Value(value),
            }));
        }
        self.tracker().record_read(read.clone(), None);
        if let Some(scene) = self.task_scene(of) {
            return self
                .evaluate_for_task(&slot, raw, &scene, attribute.sensitive)
                .map(Some);
        }
        let item = self.element_item(
            raw,
            &|| self.owner_scene(attribute.owner),
            Some(slot),
            attribute.sensitive,
        )?;
        if let LazyValue::Value(value) = &item {
            self.tracker().record_read(read, Some(value.clone()));
        }
        Ok(Some(item))
    }

    /// Drops the mark of data of a plain value if the user allows the evaluation of results.
    fn without_allowed_mark(&self, raw: Value) -> Value {
        match &raw {
            Value::Data(inner) if self.system().evaluates_results() && !needs_evaluation(inner) => {
                Value::clone(inner)
            }
            _ => raw,
        }
    }

    /// Evaluates an attribute in the scene of a task, without memoizing it.
    fn evaluate_for_task(
        &self,
        slot: &AttributeSlot,
        raw: Value,
        scene: &Scene,
        sensitive: bool,
    ) -> Result<LazyValue, Error> {
        if !self.tracker().begin_task_slot(slot) {
            return Ok(LazyValue::Value(Value::Null));
        }
        let level = self.tracker().enter_level();
        let item =
            level.and_then(|_level| self.element_item(raw, &|| scene.clone(), None, sensitive));
        self.tracker().end_task_slot(slot);
        let item = item?;
        if let LazyValue::Value(value) = &item {
            let (of, name) = (slot.of, Arc::clone(&slot.name));
            let read = Read::Attribute { of, name };
            self.tracker().record_read(read, Some(value.clone()));
        }
        Ok(item)
    }

    /// Returns the scene in which the attributes of an entity are evaluated.
    pub(super) fn owner_scene(&self, owner: Handle) -> Scene {
        let mut context = Context::new(owner);
        context.base_dir = self.scope().base_dir(owner);
        Scene::new(context)
    }

    /// Returns an element of a map or list. Expressions are evaluated; maps and lists that contain some stay
    /// lazy.
    fn element_item(
        &self,
        raw: Value,
        scene: &dyn Fn() -> Scene,
        slot: Option<AttributeSlot>,
        sensitive: bool,
    ) -> Result<LazyValue, Error> {
        let mark = |value: Value| if sensitive { value.sensitive() } else { value };
        match &raw {
            Value::Str(text) if !is_template(text) => return Ok(LazyValue::Value(mark(raw))),
            Value::Str(_) | Value::List(_) | Value::Map(_) => {}
            _ => return Ok(LazyValue::Value(mark(raw))),
        }
        let Some(slot) = slot else {
            if !needs_evaluation(&raw) {
                return Ok(LazyValue::Value(mark(raw)));
            }
            if matches!(raw, Value::Str(_)) || is_expression(&raw) || sensitive {
                return Ok(LazyValue::Value(mark(self.evaluate_raw(
                    &raw,
                    &scene(),
                    None,
                )?)));
            }
            let scene = scene();
            let lazy = LazyCollection { raw, scene, slot };
            return Ok(LazyValue::Lazy(Arc::new(lazy)));
        };
        if let Some(known) = self.memo().get(&slot, self.scope()) {
            self.tracker().record_slot(&slot);
            let (value, writes) = known?;
            self.tracker().record_writes(&writes);
            return Ok(LazyValue::Value(value));
        }
        let container = !matches!(raw, Value::Str(_)) && !is_expression(&raw);
        if container && !sensitive && needs_evaluation(&raw) {
            let lazy = LazyCollection {
                raw,
                scene: scene(),
                slot: Some(slot),
            };
            return Ok(LazyValue::Lazy(Arc::new(lazy)));
        }
        self.evaluate_slot(&slot, &raw, &scene(), sensitive)
            .map(LazyValue::Value)
    }

    /// Evaluates a slot completely and memoizes the value.
    fn evaluate_slot(
        &self,
        slot: &AttributeSlot,
        raw: &Value,
        scene: &Scene,
        sensitive: bool,
    ) -> Result<Value, Error> {
        if let Some(known) = self.memo().get(slot, self.scope()) {
            self.tracker().record_slot(slot);
            let (value, writes) = known?;
            self.tracker().record_writes(&writes);
            return Ok(value);
        }
        let level = self.tracker().enter_level()?;
        let generation = self.scope().generation();
        if !self.tracker().begin_slot(slot) {
            return Ok(Value::Null);
        }
        let value = {
            let _name = budget::enter(&slot.name);
            let value = budget::check().and_then(|()| self.evaluate_raw(raw, scene, Some(slot)));
            budget::settle(value.and_then(check_size))
        };
        let frame = self.tracker().end_slot(slot);
        drop(level);
        let value = match value {
            Ok(value) if sensitive => value.sensitive(),
            Ok(value) => value,
            Err(error) => {
                // Readers of this attribute do not see the secrets that it read.
                let error = error.redacted(&frame.reads);
                let error = error.within(Site::Attribute(slot.of, Arc::clone(&slot.name)));
                self.remember_failure(slot, &error, frame, generation);
                return Err(error);
            }
        };
        self.tracker().record_writes(frame.reads.writes());
        let entry = MemoEntry {
            value: Ok(value.clone()),
            reads: frame.reads,
            slots: frame.slots,
            computed: generation,
            generation,
        };
        self.memo().put(slot.clone(), entry);
        self.tracker().record_slot(slot);
        Ok(value)
    }

    /// Memoizes the error of an evaluation, so that the attributes that depend on it do not repeat it.
    fn remember_failure(
        &self,
        slot: &AttributeSlot,
        error: &Error,
        frame: ReadFrame,
        generation: u64,
    ) {
        if error.depends_on_caller() {
            // The reads before the error decide when to evaluate again, so they are recorded too.
            self.tracker().record_reads(&frame.reads);
            frame
                .slots
                .iter()
                .for_each(|slot| self.tracker().record_slot(slot));
            return;
        }
        let entry = MemoEntry {
            value: Err(Box::new(error.clone())),
            reads: frame.reads,
            slots: frame.slots,
            computed: generation,
            generation,
        };
        self.memo().put(slot.clone(), entry);
        self.tracker().record_slot(slot);
    }

    /// Evaluates a raw value completely. A slot lets the memo keep its elements.
    pub(super) fn evaluate_raw(
        &self,
        raw: &Value,
        scene: &Scene,
        slot: Option<&AttributeSlot>,
    ) -> Result<Value, Error> {
        if let Some(form) = Expression::parse(raw) {
            let results = self.resolve(&form, scene)?;
            return self.collect_results(&form, results);
        }
        match raw {
            Value::Str(text) if is_template(text) => self.template(text, scene),
            Value::Map(map) if needs_evaluation(raw) => {
                let mut values = Map::with_capacity(map.len());
                for (key, raw) in map.iter() {
                    let value =
                        self.evaluate_element(raw, scene, slot.map(|slot| (slot, &**key)))?;
                    values.insert(Arc::clone(key), value);
                }
                Ok(values.into())
            }
            Value::List(items) if needs_evaluation(raw) => {
                let mut values = List::with_capacity(items.len());
                for (place, raw) in items.iter().enumerate() {
                    let value = match slot {
                        Some(slot) => {
                            self.evaluate_element(raw, scene, Some((slot, &place.to_string())))?
                        }
                        None => self.evaluate_raw(raw, scene, None)?,
                    };
                    values.push(value);
                }
                Ok(values.into())
            }
            _ => Ok(raw.clone()),
        }
    }

    fn evaluate_element(
        &self,
        raw: &Value,
        scene: &Scene,
        slot: Option<(&AttributeSlot, &str)>,
    ) -> Result<Value, Error> {
        if !needs_evaluation(raw) {
            return Ok(raw.clone());
        }
        match slot {
            Some((slot, key)) => self.evaluate_slot(&slot.part(key), raw, scene, false),
            None => self.evaluate_raw(raw, scene, None),
        }
    }

    /// Returns an element of a lazy map or list.
    pub(super) fn lazy_element(
        &self,
        lazy: &LazyCollection,
        raw: Value,
        key: &str,
    ) -> Result<LazyValue, Error> {
        let slot = lazy.slot.as_ref().map(|slot| slot.part(key));
        self.element_item(raw, &|| lazy.scene.clone(), slot, false)
    }

    /// Evaluates an item, including its parts, to a value.
    pub(super) fn value_of(&self, item: LazyValue) -> Result<Value, Error> {
        match item {
            LazyValue::Value(value) => Ok(value),
            LazyValue::Entity(of) => Ok(self.scope().reference(of)),
            LazyValue::Template(of) => Ok(self.special(of, ".template").unwrap_or_default()),
            LazyValue::Lazy(lazy) => match &lazy.slot {
                Some(slot) => self.evaluate_slot(slot, &lazy.raw, &lazy.scene, false),
                None => self.evaluate_raw(&lazy.raw, &lazy.scene, None),
            },
            LazyValue::Attributes(of) => {
                let _level = self.tracker().enter_level()?;
                let mut values = Map::new();
                for name in self.scope().attribute_names(of) {
                    let value = self.attribute(of, &name)?.unwrap_or_default();
                    values.insert(name, value);
                }
                Ok(values.into())
            }
            LazyValue::AllInstances(from) => {
                let mut values = Map::new();
                for handle in self.root_and_instances(from) {
                    values.insert(self.name_of(handle), self.scope().reference(handle));
                }
                Ok(values.into())
            }
            LazyValue::Inputs(inputs, scene) => {
                let mut values = Map::new();
                for name in inputs.names() {
                    let value = self.evaluate_input(&inputs, name, &scene)?;
                    values.insert(Arc::clone(name), value.unwrap_or_default());
                }
                Ok(values.into())
            }
            LazyValue::Topology(root) => self.value_of(LazyValue::Attributes(root)),
            LazyValue::Connections(connections) => Ok(Value::from(Map::clone(&connections))),
            LazyValue::Super(..) | LazyValue::Break | LazyValue::Continue => Ok(Value::Null),
        }
    }

    /// Returns the root and the instances of the topology of an entity.
    pub(super) fn root_and_instances(&self, from: Handle) -> Vec<Handle> {
        let instances = self.scope().instances(from);
        let count = i64::try_from(instances.len()).unwrap_or(i64::MAX);
        self.tracker()
            .record_read(Read::Instances(from), Some(count.into()));
        let mut every = vec![self.scope().root(from)];
        every.extend(
            instances
                .into_iter()
                .filter(|handle| *handle != every[0])
                .collect::<Vec<_>>(),
        );
        every
    }

    /// Returns the name of an entity, or its key if it has none.
    pub(super) fn name_of(&self, handle: Handle) -> Arc<str> {
        match self.scope().special(handle, ".name") {
            Some(Value::Str(name)) => name,
            _ => self.scope().key(handle),
        }
    }

    /// Returns the owner for `get_dir`: the task, or the instance whose attribute is evaluated.
    pub(super) fn directory_owner(&self, scene: &Scene) -> DirectoryOwner {
        if scene.context.directory_owner.instance.is_some()
            && scene.entity() == scene.context.target
        {
            return scene.context.directory_owner.clone();
        }
        DirectoryOwner {
            instance: Some(self.name_of(scene.entity())),
            operation: None,
        }
    }

    /// Evaluates the expressions in a value, but not the templates.
    pub(super) fn evaluate_quoted(&self, value: &Value, scene: &Scene) -> Result<Value, Error> {
        if is_expression(value) {
            return self.evaluate_raw(value, scene, None);
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

    /// Evaluates an expression and returns its results.
    pub(super) fn resolve(
        &self,
        form: &Expression<'_>,
        scene: &Scene,
    ) -> Result<Vec<LazyValue>, Error> {
        budget::check()?;
        let mut inner = scene.clone();
        for (name, raw) in form.vars.into_iter().flatten() {
            let var = if needs_evaluation(raw) {
                Var::Lazy(raw.clone())
            } else {
                Var::Value(raw.clone())
            };
            inner.context.vars.set(Arc::clone(name), var);
        }
        if let Some(StrictMode::Undefined(strict)) = form.strict {
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
            let start = Var::Bound(BoundItem(inner.current.clone()));
            inner.context.vars.set("start", start);
        }
        let results = self.results(form.source, &inner)?;
        match form.foreach.or(form.select) {
            Some(each) if !results.is_empty() => self.for_each(each, results, &inner),
            _ => Ok(results),
        }
    }

    /// Combines the results of an expression into one value: null for none, the only result itself,
    /// otherwise a list.
    fn collect_results(
        &self,
        form: &Expression<'_>,
        results: Vec<LazyValue>,
    ) -> Result<Value, Error> {
        let mut values = self.values_of(results)?;
        let demand = |demand| Error::Required {
            expression: format!("{:?}", form.source),
            demand,
        };
        if form.foreach.is_some() {
            return Ok(values.into());
        }
        match (values.len(), form.strict) {
            (0, Some(StrictMode::Required | StrictMode::NotNull)) => Err(demand("return results")),
            (0, _) => Ok(Value::Null),
            (1, Some(StrictMode::NotNull)) if values[0].is_null() => Err(demand("not be null")),
            (1, _) => Ok(values.swap_remove(0)),
            _ => Ok(values.into()),
        }
    }
}
