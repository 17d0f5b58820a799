//! The functions, tests and filters that only documents have.

use std::collections::BTreeMap;

use minijinja::value::{Kwargs, Rest, Tuple, Value as JinjaValue};
use minijinja::{Environment, State, functions};

use super::error::{Result, filter_error};
use super::inserted_names::{ITEMS_FUNCTION, MUTABLE_FUNCTION, STATEMENT_FUNCTION};
use super::mutable::MutableMaker;
use super::serialization;
use super::variables::Variables;
use super::{arguments, collections, document_filters};

/// Adds the functions on lists and maps whose calls are inserted into all templates.
pub(super) fn add_mutable(environment: &mut Environment<'_>) {
    environment.add_function(MUTABLE_FUNCTION, make_mutable);
    environment.add_function(ITEMS_FUNCTION, loop_items);
    environment.add_function("namespace", namespace);
}

/// Adds the functions, tests and filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_function(STATEMENT_FUNCTION, statement);
    environment.add_function("odict", ordered_map);
    environment.add_function("raise", |message: String| -> Result<JinjaValue> {
        Err(filter_error(message))
    });
    environment.add_test("list", document_filters::is_list);
    document_filters::add(environment);
    arguments::add_filters(environment, serialization::DOCUMENT_FILTERS);
    arguments::add_filters(environment, collections::DOCUMENT_FILTERS);
}

/// The `do` statement that a rendering is in.
#[derive(Debug, Default)]
pub(super) struct StatementState {
    pub(super) is_running: bool,
}

/// Returns what a loop goes through. The engine takes none for an empty list; Jinja2 refuses it.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
fn loop_items(values: Rest<JinjaValue>) -> Result<JinjaValue> {
    match &*values.0 {
        [one] if one.is_none() => Err(filter_error("none cannot be iterated".to_owned())),
        [one] => Ok(one.clone()),
        several => Ok(JinjaValue::from(Tuple::from(several.to_vec()))),
    }
}

fn statement(state: &mut State, is_running: bool) -> bool {
    state
        .get_or_insert_extension(StatementState::default())
        .is_running = is_running;
    true
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
fn make_mutable(state: &State, values: Rest<JinjaValue>) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    MutableMaker::new(&variables).make_all(&values)
}

/// Creates a namespace whose lists and maps templates can change.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
fn namespace(state: &mut State, values: Option<JinjaValue>, names: Kwargs) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let maker = MutableMaker::new(&variables);
    let mut entries = BTreeMap::new();
    if let Some(values) = &values {
        for key in values.try_iter()? {
            let item = maker.make_all(&[values.get_item(&key)?])?;
            entries.insert(key.to_string(), item);
        }
    }
    for name in names.args() {
        let item = maker.make_all(&[names.get(name)?])?;
        entries.insert(name.to_owned(), item);
    }
    JinjaValue::from_function(functions::namespace).call(state, &[JinjaValue::from(entries)])
}

/// Creates a map from another map, from pairs and from named arguments, as Python's `OrderedDict` does.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
fn ordered_map(state: &mut State, args: Rest<JinjaValue>) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let empty = JinjaValue::from(BTreeMap::<String, JinjaValue>::new());
    let map = MutableMaker::new(&variables).make_all(&[empty])?;
    map.call_method(state, "update", &args)?;
    Ok(map)
}
