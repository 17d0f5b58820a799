//! `sensitive`, `local`, `secret`, `get_ensemble_metadata` and what is not supported here.

use crate::expr::error::Error;
use crate::expr::item::Item;
use crate::expr::reads::Read;
use crate::value::Value;

use super::call::Call;

pub(super) fn sensitive(call: &Call<'_>) -> Result<Item, Error> {
    Ok(Item::Value(call.value()?.sensitive()))
}

pub(super) fn context_value(call: &Call<'_>) -> Result<Item, Error> {
    let name = call.value()?;
    let path = call.name_in(&name, "a name")?;
    let (key, rest) = path.split_once("::").unwrap_or((path, ""));
    let Some(raw) = call.evaluator.world().context_value(call.name, key) else {
        return Ok(Item::Value(Value::Null));
    };
    let mut value = call.evaluator.deep(&raw, call.scene, None)?;
    for part in rest.split("::").filter(|part| !part.is_empty()) {
        value = value.get(part).cloned().unwrap_or_default();
    }
    if call.name == "secret" && !value.is_null() {
        value = value.sensitive();
    }
    Ok(Item::Value(value))
}

pub(super) fn external(call: &Call<'_>) -> Result<Item, Error> {
    let name = call.value()?;
    let name = name.as_str().unwrap_or_default();
    let found = call.evaluator.scope().external(name);
    let found = found.or_else(|| call.evaluator.find(call.scene.entity(), name));
    let missing = || call.fail(format!("there is no external ensemble `{name}`"));
    found.map(Item::entity).ok_or_else(missing)
}

pub(super) fn metadata(call: &Call<'_>) -> Result<Item, Error> {
    call.evaluator.tracker().read(Read::Volatile, None);
    let metadata = call.evaluator.world().metadata();
    let key = call.value()?;
    if !key.is_truthy() {
        return Ok(Item::Value(metadata.into()));
    }
    let key = key.as_str().unwrap_or_default();
    Ok(Item::Value(
        metadata.get(key).cloned().unwrap_or_else(|| "".into()),
    ))
}

pub(super) fn arguments(call: &Call<'_>) -> Result<Item, Error> {
    let arguments = call.evaluator.variable("arguments", call.scene)?;
    Ok(arguments.unwrap_or(Item::Value(Value::Null)))
}

/// Stands for a secret of a node template that has left the model.
pub(super) fn left_out(call: &Call<'_>) -> Result<Item, Error> {
    let name = call.value()?;
    Err(call.fail(format!(
        "the value of `{name}` was a secret, and secrets are not kept when their template leaves \
         the model: put the template back to use it"
    )))
}

pub(super) fn not_here(call: &Call<'_>) -> Result<Item, Error> {
    Err(call.fail("this function runs Python code, which is not supported"))
}
