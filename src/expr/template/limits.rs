//! Limits for the size of the values that templates create, so that no template exhausts the memory.

use minijinja::value::{Rest, Value as JinjaValue, ValueKind};

use crate::expr::budget;
use crate::text::format_size;
use crate::value::limits::limits;

use super::error::{Result, filter_error};
use super::lazy_object::LazyObject;

/// The maximum number of items of a list.
pub(super) const MAX_ITEMS: usize = 1 << 20;

/// The maximum nesting depth of lists and maps.
const MAX_DEPTH: usize = 100;

/// Returns the maximum size of a value and of the output of a template, in bytes.
pub(super) fn max_value() -> usize {
    limits().value
}

/// Returns the maximum size of a value in a variable, in bytes. It is lower because a template can join
/// variables.
fn max_variable() -> usize {
    max_value() / 4
}

/// Returns an error if a text would be too long.
pub(super) fn check_text_length(length: usize) -> Result<()> {
    if length > max_value() {
        return Err(filter_error(format!(
            "the text would be longer than {}; raise the limit with `--max-value`",
            format_size(max_value() as u64)
        )));
    }
    Ok(())
}

/// Returns an error if a list would have too many items.
pub(super) fn check_item_count(count: usize) -> Result<()> {
    if count > MAX_ITEMS {
        return Err(filter_error(format!(
            "the list would have more than {MAX_ITEMS} items"
        )));
    }
    Ok(())
}

/// Returns an error if the budget of the evaluation is used up.
pub(super) fn check_budget() -> Result<()> {
    budget::check().map_err(|error| filter_error(error.to_string()))
}

/// Returns an error if the values of variables are too large.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
pub(super) fn check_values(values: Rest<JinjaValue>) -> Result<bool> {
    check_budget()?;
    let mut budget = max_variable();
    for value in values.iter() {
        if !fits(value, &mut budget, 0) {
            return Err(filter_error(format!(
                "the value of a variable would exceed {}, a quarter of the limit; raise the limit with `--max-value`",
                format_size(max_variable() as u64)
            )));
        }
    }
    Ok(true)
}

/// Whether a value fits into a budget of bytes. Each item costs a few bytes.
fn fits(value: &JinjaValue, budget: &mut usize, depth: usize) -> bool {
    let own = value.as_str().map_or(4, |text| text.len().max(4));
    let Some(rest) = budget.checked_sub(own) else {
        return false;
    };
    *budget = rest;
    if value.downcast_object_ref::<LazyObject>().is_some() {
        return true;
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Map => {
            let is_map = value.kind() == ValueKind::Map;
            let Ok(mut items) = value.try_iter() else {
                return true;
            };
            depth < MAX_DEPTH
                && items.all(|item| {
                    let inner = is_map.then(|| value.get_item(&item).ok()).flatten();
                    fits(&item, budget, depth + 1)
                        && inner.is_none_or(|inner| fits(&inner, budget, depth + 1))
                })
        }
        // Concatenated lists have a length. A stream has none, and this check must not consume it.
        ValueKind::Iterable => {
            let length = value.len().unwrap_or_default().saturating_mul(4);
            budget.checked_sub(length).is_some_and(|rest| {
                *budget = rest;
                true
            })
        }
        _ => true,
    }
}

/// Returns an error if the items of a list together are larger than a value may be. An item that occurs more
/// than once counts each time.
pub(super) fn check_items(list: &JinjaValue) -> Result<()> {
    let mut size = 0_usize;
    let Some(_) = list.len() else {
        // A stream can be read only once.
        return Ok(());
    };
    for item in list.try_iter()? {
        size = size.saturating_add(item.as_str().map_or(8, str::len));
        check_text_length(size)?;
    }
    Ok(())
}
