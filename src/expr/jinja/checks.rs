//! The tests of Ansible: `is match`, `is subset`, `is version`, ….
#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands arguments over by value"
)]

use std::cmp::Ordering;
use std::path::PathBuf;

use minijinja::value::{Kwargs, Value as JinjaValue};
use minijinja::{Environment, State};

use crate::expr::reads::Read;
use crate::value::Value;

use super::filters::{Result, failed};
use super::text::{flags, regex};
use super::variables::Variables;

/// Adds the tests to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_test(
        "match",
        |state: &State, value: &JinjaValue, pattern: String, options: Kwargs| {
            matches(state, value, &format!("^(?:{pattern})"), &options)
        },
    );
    environment.add_test(
        "search",
        |state: &State, value: &JinjaValue, pattern: String, options: Kwargs| {
            matches(state, value, &pattern, &options)
        },
    );
    environment.add_test(
        "regex",
        |state: &State, value: &JinjaValue, pattern: String, options: Kwargs| {
            matches(state, value, &pattern, &options)
        },
    );
    environment.add_test(
        "contains",
        |state: &State, value: &JinjaValue, item: &JinjaValue| contains(state, value, item),
    );
    environment.add_test(
        "subset",
        |state: &State, value: &JinjaValue, of: &JinjaValue| subset(state, value, of),
    );
    environment.add_test(
        "superset",
        |state: &State, value: &JinjaValue, of: &JinjaValue| subset(state, of, value),
    );
    environment.add_test("truthy", |value: &JinjaValue| value.is_true());
    environment.add_test("falsy", |value: &JinjaValue| !value.is_true());
    environment.add_test("all", |value: &JinjaValue| {
        Ok::<_, minijinja::Error>(value.try_iter()?.all(|item| item.is_true()))
    });
    environment.add_test("any", |value: &JinjaValue| {
        Ok::<_, minijinja::Error>(value.try_iter()?.any(|item| item.is_true()))
    });
    environment.add_test("version", version);
    environment.add_test("version_compare", version);
    environment.add_test("exists", |state: &State, path: String| {
        at(state, path, |world, path| world.exists(path))
    });
    environment.add_test("directory", |state: &State, path: String| {
        at(state, path, |world, path| world.is_dir(path))
    });
    environment.add_test("file", |state: &State, path: String| {
        at(state, path, |world, path| {
            world.exists(path) && !world.is_dir(path)
        })
    });
    environment.add_test("abs", |path: String| path.starts_with('/'));
}

fn at(
    state: &State,
    path: String,
    holds: fn(&dyn crate::expr::World, &std::path::Path) -> bool,
) -> Result<bool> {
    let variables = Variables::of(state)?;
    let path = PathBuf::from(path);
    let evaluator = &variables.evaluator;
    evaluator.tracker().read(Read::File(path.clone()), None);
    Ok(holds(evaluator.world(), &path))
}

fn matches(state: &State, value: &JinjaValue, pattern: &str, options: &Kwargs) -> Result<bool> {
    let text = Variables::of(state)?.open(value)?.to_string();
    let (ignore_case, multiline) = flags(options)?;
    Ok(regex(pattern, ignore_case, multiline)?.is_match(&text))
}

fn contains(state: &State, value: &JinjaValue, item: &JinjaValue) -> Result<bool> {
    let variables = Variables::of(state)?;
    let item = variables.open(item)?;
    Ok(match variables.open(value)? {
        Value::List(items) => items.contains(&item),
        Value::Map(map) => map.contains_key(item.to_string().as_str()),
        other => other.to_string().contains(&item.to_string()),
    })
}

fn subset(state: &State, value: &JinjaValue, of: &JinjaValue) -> Result<bool> {
    let variables = Variables::of(state)?;
    match (variables.open(value)?, variables.open(of)?) {
        (Value::List(items), Value::List(of)) => Ok(items.iter().all(|item| of.contains(item))),
        _ => Err(failed("takes two lists")),
    }
}

fn version(
    state: &State,
    value: &JinjaValue,
    other: &JinjaValue,
    operator: Option<String>,
    _options: Kwargs,
) -> Result<bool> {
    let variables = Variables::of(state)?;
    let (own, other) = (
        variables.open(value)?.to_string(),
        variables.open(other)?.to_string(),
    );
    let order = compare_versions(&own, &other);
    match operator.as_deref().unwrap_or("eq") {
        "==" | "=" | "eq" => Ok(order.is_eq()),
        "!=" | "<>" | "ne" => Ok(order.is_ne()),
        "<" | "lt" => Ok(order.is_lt()),
        "<=" | "le" => Ok(order.is_le()),
        ">" | "gt" => Ok(order.is_gt()),
        ">=" | "ge" => Ok(order.is_ge()),
        other => Err(failed(format!("`{other}` compares no versions"))),
    }
}

/// Compares part by part: numbers as numbers, words as text; a word is less than a number.
fn compare_versions(left: &str, right: &str) -> Ordering {
    let parts = |version: &str| -> Vec<(Option<u64>, String)> {
        let mut parts: Vec<String> = Vec::new();
        for character in version.chars() {
            let kind = |c: char| {
                if c.is_ascii_digit() {
                    0
                } else {
                    1 + u8::from(c.is_alphabetic())
                }
            };
            if !character.is_alphanumeric() {
                parts.push(String::new());
                continue;
            }
            match parts.last_mut() {
                Some(last)
                    if last
                        .chars()
                        .next_back()
                        .is_none_or(|c| kind(c) == kind(character)) =>
                {
                    last.push(character);
                }
                _ => parts.push(character.to_string()),
            }
        }
        parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(|part| (part.parse().ok(), part))
            .collect()
    };
    let (left, right) = (parts(left), parts(right));
    for (own, other) in left.iter().zip(&right) {
        let order = match (own.0, other.0) {
            (Some(own), Some(other)) => own.cmp(&other),
            (Some(_), None) => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (None, None) => own.1.cmp(&other.1),
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}
