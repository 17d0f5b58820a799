//! How large what templates make may get.

use minijinja::value::{Rest, Value as JinjaValue, ValueKind};

use super::error::{Result, filter_error};
use super::lazy_object::LazyObject;

/// The longest text, in bytes.
pub(super) const MAX_TEXT: usize = 16 << 20;

/// The longest text that a template keeps in a variable; two of them can make a longer one.
const MAX_VARIABLE: usize = 4 << 20;

/// How many items a list may have.
pub(super) const MAX_ITEMS: usize = 1 << 20;

/// How much all that a template puts out may be.
pub(super) const MAX_OUTPUT: usize = 64 << 20;

/// How deep lists and maps may nest.
const MAX_DEPTH: usize = 100;

/// Refuses a text that would be too long.
pub(super) fn check_text_length(length: usize) -> Result<()> {
    if length > MAX_TEXT {
        return Err(filter_error(format!(
            "the text would be longer than {} MiB",
            MAX_TEXT >> 20
        )));
    }
    Ok(())
}

/// Refuses a list that would have too many items.
pub(super) fn check_item_count(count: usize) -> Result<()> {
    if count > MAX_ITEMS {
        return Err(filter_error(format!(
            "the list would have more than {MAX_ITEMS} items"
        )));
    }
    Ok(())
}

/// Refuses values that are too large to be kept.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine hands arguments over by value"
)]
pub(super) fn check_values(values: Rest<JinjaValue>) -> Result<bool> {
    let mut budget = MAX_VARIABLE;
    for value in values.iter() {
        if !fits(value, &mut budget, 0) {
            return Err(filter_error(format!(
                "a variable would hold more than {} MiB",
                MAX_VARIABLE >> 20
            )));
        }
    }
    Ok(true)
}

/// Whether a value fits into a budget of bytes, of which each item takes some.
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
        // Lists that were added to each other; streams have no length and are not used up here.
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
