//! The registration of filters and functions in a template environment.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]

use minijinja::value::{Kwargs, Value as JinjaValue};
use minijinja::{Environment, State};

use crate::expr::functions::{LabelRules, to_label};
use crate::expr::lazy::LazyValue;
use crate::value::{Map, Value};

use super::error::{Result, filter_error};
use super::inserted_names::{CHECK_FUNCTION, COUNT_FUNCTION, VARIADIC_FUNCTION};
use super::variables::Variables;
use super::{
    arguments, builtin, collections, combinatorics, cycler, dates, document_functions, engine,
    limits, lookup, paths, regexes, serialization, text, text_layout, variadic, vault,
};

/// Adds the filters and functions to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    minijinja_contrib::add_to_environment(environment);
    builtin::add(environment);
    environment.add_filter("eval", eval);
    environment.add_filter("ref", eval);
    environment.add_filter("map_value", map_value);
    environment.add_filter("mapValue", map_value);
    environment.add_filter("sensitive", sensitive);
    for name in [
        "to_label",
        "to_dns_label",
        "to_kubernetes_label",
        "to_googlecloud_label",
    ] {
        let run = move |state: &State, value: &JinjaValue, options: Kwargs| {
            label(state, value, &options, name)
        };
        environment.add_filter(name, run);
    }
    environment.add_filter("scalar", scalar);
    environment.add_function("dict", dict);
    environment.add_function("cycler", cycler::cycler);
    environment.add_function("undef", undef);
    document_functions::add_mutable(environment);
    environment.add_function(VARIADIC_FUNCTION, variadic::wrap);
    environment.add_function(CHECK_FUNCTION, limits::check_values);
    environment.add_function(COUNT_FUNCTION, engine::count_output);
    environment.add_function("lookup", lookup::lookup_function);
    environment.add_function("query", lookup::query_function);
    environment.add_function("q", lookup::query_function);
    environment.add_function("now", dates::now);
    environment.add_filter("abspath", paths::abspath);
    environment.add_filter("get_dir", paths::get_dir);
    environment.add_filter("which", paths::which);
    environment.add_filter("string", serialization::string);
    for filters in [
        dates::FILTERS,
        regexes::FILTERS,
        combinatorics::FILTERS,
        paths::FILTERS,
        serialization::FILTERS,
        vault::FILTERS,
        text::FILTERS,
        text_layout::FILTERS,
        collections::FILTERS,
    ] {
        arguments::add_filters(environment, filters);
    }
}

/// Builds a map from pairs or from another map, and from named arguments, as Python's `dict` does.
fn dict(state: &State, pairs: Option<JinjaValue>, names: Kwargs) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let mut entries = Map::new();
    let mut add = |key: &JinjaValue, value: &JinjaValue| -> Result<()> {
        let key = variables.native_value(key)?.to_string();
        entries.insert(key.into(), variables.native_value(value)?);
        Ok(())
    };
    let is_map = pairs
        .as_ref()
        .is_some_and(|pairs| pairs.kind() == minijinja::value::ValueKind::Map);
    if let Some(pairs) = &pairs {
        for pair in pairs.try_iter()? {
            let (key, value) = if is_map {
                (pair.clone(), pairs.get_item(&pair)?)
            } else {
                let mut pair = pair.try_iter()?;
                let parts = (pair.next(), pair.next(), pair.next());
                let (Some(key), Some(value), None) = parts else {
                    return Err(filter_error("`dict` takes a map or pairs"));
                };
                (key, value)
            };
            add(&key, &value)?;
        }
    }
    for name in names.args() {
        add(&name.into(), &names.get(name)?)?;
    }
    Ok(variables.engine_value(LazyValue::Value(entries.into())))
}

fn undef(_hint: Option<JinjaValue>, names: Kwargs) -> Result<JinjaValue> {
    names.get::<Option<JinjaValue>>("hint")?;
    Ok(JinjaValue::UNDEFINED)
}

fn eval(state: &State, expression: &JinjaValue, options: Kwargs) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    // Data is not an expression: the result is the value itself.
    let expression = variables.argument_value(expression)?;
    let mut results = variables.query(&expression, &options)?;
    let want_list = options.get::<Option<bool>>("wantList")?.unwrap_or_default();
    let is_loop = expression.get("foreach").is_some_and(Value::is_truthy);
    if want_list || is_loop || results.len() > 1 {
        let values = variables.evaluator.values_of(results);
        let values = values.map_err(|error| variables.engine_error(error))?;
        return Ok(variables.engine_value(LazyValue::Value(values.into())));
    }
    Ok(variables.engine_value(results.pop().unwrap_or(LazyValue::Value(Value::Null))))
}

fn map_value(state: &State, raw: &JinjaValue, options: Kwargs) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let known = variables.argument_value(raw)?;
    if known.own_marks().data {
        return Ok(variables.engine_value(LazyValue::Value(known)));
    }
    let raw = variables.native_raw(raw)?;
    let mut scene = variables.scene.clone();
    for name in options.args() {
        let value = variables.argument_value(&options.get::<JinjaValue>(name)?)?;
        scene.context.vars.set(name, value);
    }
    let value = variables.evaluator.evaluate_raw(&raw, &scene, None);
    Ok(variables.engine_value(LazyValue::Value(
        value.map_err(|error| variables.engine_error(error))?,
    )))
}

fn sensitive(state: &State, value: &JinjaValue) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    variables.evaluator.tracker().note_sensitive();
    Ok(value.clone())
}

fn scalar(state: &State, value: &JinjaValue) -> Result<JinjaValue> {
    Variables::from_state(state)?.call_function("scalar", std::slice::from_ref(value))
}

fn label(
    state: &State,
    value: &JinjaValue,
    options: &Kwargs,
    function: &str,
) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let mut style = LabelRules::for_function(function);
    for name in options.args() {
        style.set(
            name,
            &variables.revealed_value(&options.get::<JinjaValue>(name)?)?,
        );
    }
    let label = to_label(&variables.revealed_value(value)?, &style).map_err(filter_error)?;
    Ok(variables.engine_value(LazyValue::Value(label)))
}
