//! The loops `foreach` and `select`, and the evaluation of the sources that they and the functions take:
//! paths, templates and function maps.

use crate::value::{List, Map, Value};

use super::context::{BoundItem, Var};
use super::error::Error;
use super::evaluator::Evaluator;
use super::functions::{self, FunctionCall};
use super::lazy::{LazyValue, Scene};
use super::syntax::{Expression, is_template};

impl Evaluator {
    /// Returns the results of a path, a template or a function map.
    pub(super) fn results(&self, source: &Value, scene: &Scene) -> Result<Vec<LazyValue>, Error> {
        match source {
            Value::Str(text) if is_template(text) => {
                Ok(vec![LazyValue::Value(self.template(text, scene)?)])
            }
            Value::Str(text) => self.evaluate_path(text, scene),
            Value::Map(map) => self.call_function(source, map, scene),
            Value::Null => Ok(Vec::new()),
            Value::Data(_) if source.as_list().is_some() => {
                let list = LazyValue::Value(source.clone());
                Ok(self.values(&list)?.unwrap_or_default())
            }
            Value::List(_) => {
                let list = self.evaluate_raw(source, scene, None)?;
                Ok(self.values(&LazyValue::Value(list))?.unwrap_or_default())
            }
            other => Ok(vec![LazyValue::Value(other.clone())]),
        }
    }

    fn call_function(
        &self,
        source: &Value,
        map: &Map,
        scene: &Scene,
    ) -> Result<Vec<LazyValue>, Error> {
        let known = map
            .iter()
            .find_map(|(key, arg)| Some((key, arg, functions::find(key)?)));
        let Some((name, arg, function)) = known else {
            if map.contains_key("eval") || map.contains_key("ref") {
                // The map is a whole expression in the position of a function.
                let form = Expression::parse_query(source);
                let results = self.resolve(&form, scene)?;
                if form.foreach.is_none() {
                    return Ok(results);
                }
                return Ok(vec![LazyValue::Value(self.values_of(results)?.into())]);
            }
            return Err(Error::UnknownFunction {
                expression: format!("{source:?}"),
            });
        };
        self.check_function_allowed(name)?;
        let stray = if map.contains_key("var") {
            Some("var")
        } else {
            (&**name != "foreach" && map.contains_key("foreach")).then_some("foreach")
        };
        if let Some(stray) = stray {
            return Err(Error::Function {
                function: name.to_string(),
                problem: format!("`{stray}` belongs beside `eval`, one level up"),
            });
        }
        let call = FunctionCall::new(self, name, arg, map, scene);
        let item = call.invoke(function)?;
        if &**name == "q" {
            return Ok(vec![item]);
        }
        match &item {
            LazyValue::Value(value) if value.is_null() => Ok(Vec::new()),
            item if item.is_list() => Ok(self.values(item)?.unwrap_or_default()),
            _ => Ok(vec![item]),
        }
    }

    /// Evaluates a function argument to one value: the only result, or a list of several results.
    pub(super) fn single_result(&self, source: &Value, scene: &Scene) -> Result<LazyValue, Error> {
        let results = self.results(source, scene)?;
        Ok(self
            .combine_results(results)?
            .unwrap_or(LazyValue::Value(Value::Null)))
    }

    /// Combines results into one item: none, the only one, or a list.
    pub(super) fn combine_results(
        &self,
        mut results: Vec<LazyValue>,
    ) -> Result<Option<LazyValue>, Error> {
        Ok(match results.len() {
            0 | 1 => results.pop(),
            _ => Some(LazyValue::Value(self.values_of(results)?.into())),
        })
    }

    pub(super) fn values_of(&self, items: Vec<LazyValue>) -> Result<List, Error> {
        items.into_iter().map(|item| self.value_of(item)).collect()
    }

    /// Applies `foreach` or `select` to the results, or to the items of the only result if it is a list.
    pub(super) fn for_each(
        &self,
        each: &Value,
        results: Vec<LazyValue>,
        scene: &Scene,
    ) -> Result<Vec<LazyValue>, Error> {
        if each.as_str() == Some("$true") {
            return Ok(results);
        }
        let items = match results.as_slice() {
            [only] if only.is_list() => self.values(only)?.unwrap_or_default(),
            _ => results,
        };
        let numbered = items.into_iter().enumerate();
        let keyed = numbered.map(|(place, item)| (int(place), item)).collect();
        self.for_each_keyed(each, keyed, scene)
    }

    /// Applies `foreach` to pairs of a key and an item.
    pub(super) fn for_each_keyed(
        &self,
        each: &Value,
        items: Vec<(Value, LazyValue)>,
        scene: &Scene,
    ) -> Result<Vec<LazyValue>, Error> {
        let (key_of, value_of) = match each {
            Value::Map(map) => match (map.get("key"), map.get("value")) {
                (None, None) => (None, each),
                (key, value) => (key, value.unwrap_or(&Value::Null)),
            },
            _ => (None, each),
        };
        self.tracker().count_steps(items.len())?;
        let base = self.loop_scene(&items, scene)?;
        let mut found = Vec::new();
        let mut map = Map::new();
        let mut has_data_keys = false;
        for (index, (key, item)) in items.into_iter().enumerate() {
            let mut round = base.at(item.clone());
            round.context.vars.set("index", int(index));
            round.context.vars.set("key", key);
            round.context.vars.set("item", Var::Bound(BoundItem(item)));
            let key = match key_of
                .map(|key| self.single_result(key, &round))
                .transpose()?
            {
                Some(LazyValue::Break) => break,
                Some(LazyValue::Continue) => continue,
                Some(key) => {
                    let key = self.value_of(key)?;
                    has_data_keys |= key.has_data();
                    Some(key.to_string())
                }
                None => None,
            };
            let results = self.iteration_results(value_of, &round)?;
            let Some(result) = self.combine_results(results)? else {
                continue;
            };
            match (result, key) {
                (LazyValue::Break, _) => break,
                (LazyValue::Continue, _) => {}
                (result, Some(key)) => {
                    map.insert(key.into(), self.value_of(result)?);
                }
                (result, None) => found.push(result),
            }
        }
        if key_of.is_some() {
            let map = Value::from(map).data_if(has_data_keys);
            return Ok(vec![LazyValue::Value(map)]);
        }
        Ok(found)
    }

    /// Returns the scene for the loop, with the variables `collection`, `break` and `continue`.
    fn loop_scene(&self, items: &[(Value, LazyValue)], scene: &Scene) -> Result<Scene, Error> {
        let mut base = scene.clone();
        base.looping = true;
        let collection = self.values_of(items.iter().map(|(_, item)| item.clone()).collect())?;
        let vars = &mut base.context.vars;
        vars.set("collection", Value::from(collection));
        vars.set("break", Var::Bound(BoundItem(LazyValue::Break)));
        vars.set("continue", Var::Bound(BoundItem(LazyValue::Continue)));
        Ok(base)
    }

    /// Returns the results of one iteration. A map that is not an expression is evaluated as a map.
    fn iteration_results(&self, raw: &Value, round: &Scene) -> Result<Vec<LazyValue>, Error> {
        match raw {
            Value::Map(map) if Expression::parse(raw).is_none() => {
                if map.len() == 1 && map.keys().all(|key| functions::find(key).is_some()) {
                    return self.results(raw, round);
                }
                Ok(vec![LazyValue::Value(self.evaluate_raw(raw, round, None)?)])
            }
            Value::Map(_) => {
                let Some(form) = Expression::parse(raw) else {
                    return Ok(Vec::new());
                };
                self.resolve(&form, round)
            }
            _ => self.results(raw, round),
        }
    }
}

fn int(number: usize) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
