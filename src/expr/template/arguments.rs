//! The arguments of a filter or test: positional or named as in Python, matched to declared parameters.
//! [`add_filters`] registers a [`FilterTable`] with the template engine.

use std::sync::Arc;

use minijinja::value::{Kwargs, Rest, Tuple, Value as JinjaValue};
use minijinja::{Environment, State};

use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::LazyValue;
use crate::value::{List, Map, Value};

use super::error::{Result, filter_error};
use super::limits;
use super::variables::Variables;

/// The implementation of a filter, which returns an engine value for its arguments.
pub(super) type FilterFn = fn(&FilterArguments<'_>) -> Result<JinjaValue>;

/// A table of filters: the name, the parameters and the implementation of each.
pub(super) type FilterTable = &'static [(&'static str, &'static [&'static str], FilterFn)];

/// The prefixes that may precede the name of a filter, a test or a lookup.
pub(super) const PREFIXES: [&str; 3] = ["", "ansible.builtin.", "ansible.legacy."];

/// The parameter that marks a filter with any number of positional arguments. Its other parameters are named
/// only.
pub(super) const VARIADIC: &str = "*";

/// The arguments of a call as the engine passes them, positional and named.
pub(super) struct CallArguments {
    pub(super) positional: Rest<JinjaValue>,
    pub(super) named: Kwargs,
}

/// The parameter that marks a filter with any named arguments.
pub(super) const VARIADIC_NAMED: &str = "**";

/// The arguments of a filter, matched to its parameters.
#[derive(Debug)]
pub(super) struct FilterArguments<'a> {
    /// The variables of the current rendering.
    pub(super) variables: Arc<Variables>,
    /// The value before the `|` of the filter.
    pub(super) subject: &'a JinjaValue,
    name: &'static str,
    parameters: &'static [&'static str],
    supplied: Vec<Option<JinjaValue>>,
    /// The positional arguments of a variadic filter.
    pub(super) positional: Vec<JinjaValue>,
    /// The undeclared named arguments of a filter that takes any.
    pub(super) named: Map,
}

/// Registers filters, each under its plain name and with the prefixes of Ansible's collections.
pub(super) fn add_filters(environment: &mut Environment<'_>, filters: FilterTable) {
    for &(name, parameters, filter) in filters {
        for prefix in PREFIXES {
            let run = move |state: &State,
                            subject: &JinjaValue,
                            places: Rest<JinjaValue>,
                            names: Kwargs| {
                let variables = Variables::from_state(state)?;
                let supplied = CallArguments {
                    positional: places,
                    named: names,
                };
                let answer = filter(&FilterArguments::new(
                    variables, name, parameters, subject, &supplied,
                )?)?;
                limits::check_text_length(answer.as_str().map_or(0, str::len))?;
                Ok::<_, minijinja::Error>(answer)
            };
            environment.add_filter(format!("{prefix}{name}"), run);
        }
    }
}

impl<'a> FilterArguments<'a> {
    pub(super) fn new(
        variables: Arc<Variables>,
        name: &'static str,
        parameters: &'static [&'static str],
        subject: &'a JinjaValue,
        args: &CallArguments,
    ) -> Result<Self> {
        let CallArguments {
            positional: places,
            named: names,
        } = args;
        let mut supplied = vec![None; parameters.len()];
        let mut rest = Vec::new();
        let mut named = Map::new();
        if parameters.first() == Some(&VARIADIC) {
            rest = places.to_vec();
        } else {
            if places.len() > parameters.len() {
                let max = parameters.len();
                let noun = if max == 1 { "argument" } else { "arguments" };
                return Err(filter_error(format!("`{name}` takes at most {max} {noun}")));
            }
            for (slot, value) in supplied.iter_mut().zip(places.iter()) {
                *slot = Some(value.clone());
            }
        }
        for option in names.args() {
            if parameters.contains(&VARIADIC_NAMED) {
                let value: JinjaValue = names.get(option)?;
                named.insert(option.into(), variables.revealed_value(&value)?);
                continue;
            }
            let Some(place) = parameters.iter().position(|known| *known == option) else {
                return Err(filter_error(format!("`{name}` has no argument `{option}`")));
            };
            supplied[place] = Some(names.get(option)?);
        }
        Ok(Self {
            variables,
            subject,
            name,
            parameters,
            supplied,
            positional: rest,
            named,
        })
    }

    pub(super) fn evaluator(&self) -> &Evaluator {
        &self.variables.evaluator
    }

    /// Creates an error that names the filter.
    pub(super) fn fail(&self, problem: impl std::fmt::Display) -> minijinja::Error {
        filter_error(format!("`{}`: {problem}", self.name))
    }

    /// Returns an argument as an engine value. None if it was not given.
    pub(super) fn raw(&self, parameter: &str) -> Option<&JinjaValue> {
        let place = self
            .parameters
            .iter()
            .position(|known| *known == parameter)?;
        self.supplied[place].as_ref()
    }

    /// Returns an argument with its secrets revealed. None if it was not given or is null.
    pub(super) fn get(&self, parameter: &str) -> Result<Option<Value>> {
        let value = self
            .raw(parameter)
            .map(|value| self.variables.revealed_value(value));
        Ok(value.transpose()?.filter(|value| !value.is_null()))
    }

    pub(super) fn text(&self, parameter: &str) -> Result<Option<String>> {
        Ok(self.get(parameter)?.map(|value| value.to_string()))
    }

    /// Returns an argument as a boolean, or `default` if it was not given.
    pub(super) fn flag(&self, parameter: &str, default: bool) -> Result<bool> {
        Ok(self
            .get(parameter)?
            .map_or(default, |value| value.is_truthy()))
    }

    /// Returns an argument as an integer.
    pub(super) fn int(&self, parameter: &str) -> Result<Option<i64>> {
        let Some(value) = self.get(parameter)? else {
            return Ok(None);
        };
        match (&value, value.to_string().trim().parse()) {
            (Value::Bool(truth), _) => Ok(Some((*truth).into())),
            (_, Ok(number)) => Ok(Some(number)),
            _ => Err(self.fail(format!(
                "the argument `{parameter}` must be an integer, not {value}"
            ))),
        }
    }

    /// Returns an argument as a size. A negative number becomes 0.
    pub(super) fn size(&self, parameter: &str) -> Result<Option<usize>> {
        let number = self.int(parameter)?;
        Ok(number.map(|number| usize::try_from(number.max(0)).unwrap_or(usize::MAX)))
    }

    /// Returns the value before the `|` with its secrets revealed.
    pub(super) fn subject(&self) -> Result<Value> {
        self.variables.revealed_value(self.subject)
    }

    /// Returns the value before the `|` as text.
    pub(super) fn subject_text(&self) -> Result<String> {
        Ok(self.subject()?.to_string())
    }

    /// Returns the value before the `|` as a map.
    pub(super) fn subject_map(&self) -> Result<Arc<Map>> {
        match self.subject()? {
            Value::Map(map) => Ok(map),
            other => Err(self.fail(format!("takes a map, not {}", other.kind()))),
        }
    }

    /// Returns the value before the `|` as a list.
    pub(super) fn subject_list(&self) -> Result<List> {
        self.list(&self.subject()?)
    }

    /// Converts a value to a list: a map to its keys, a text to its characters.
    pub(super) fn list(&self, value: &Value) -> Result<List> {
        match value {
            Value::List(items) => Ok(items.to_vec()),
            Value::Map(map) => Ok(map.keys().map(|key| Value::Str(Arc::clone(key))).collect()),
            Value::Str(text) => Ok(text.chars().map(|c| c.to_string().into()).collect()),
            other => Err(self.fail(format!("takes a list, not {}", other.kind()))),
        }
    }

    /// Returns the positional arguments, each as a list.
    pub(super) fn positional_lists(&self) -> Result<Vec<List>> {
        let lists = self.positional.iter();
        lists
            .map(|list| self.list(&self.variables.revealed_value(list)?))
            .collect()
    }

    /// Converts a value to an engine value.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "most filters return this result directly, and they can fail"
    )]
    pub(super) fn engine_value(&self, value: impl Into<Value>) -> Result<JinjaValue> {
        Ok(self.variables.engine_value(LazyValue::Value(value.into())))
    }

    /// Converts a list of lists to an engine list of tuples, unless it exceeds the maximum length.
    pub(super) fn engine_tuples(&self, rows: &[Value]) -> Result<JinjaValue> {
        limits::check_item_count(rows.len())?;
        let give = |item: &Value| self.variables.engine_value(LazyValue::Value(item.clone()));
        let tuple = |row: &Value| {
            let items = row.as_list().into_iter().flatten();
            JinjaValue::from(Tuple::new(items.map(give).collect()))
        };
        Ok(JinjaValue::from(rows.iter().map(tuple).collect::<Vec<_>>()))
    }

    /// Converts a list to an engine value, unless it exceeds the maximum length.
    pub(super) fn engine_list(&self, items: List) -> Result<JinjaValue> {
        limits::check_item_count(items.len())?;
        self.engine_value(items)
    }
}
