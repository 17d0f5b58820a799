//! The functions `sensitive`, `local`, `secret`, `get_secret`, `external`, `get_ensemble_metadata` and `_arguments`, and
//! errors for functions that are not supported.

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::expr::ports::{SECRETS_PERMISSION, SecretError, SecretRequest};
use crate::expr::reads::Read;
use crate::value::Value;

use super::call::FunctionCall;

pub(super) fn sensitive(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    Ok(LazyValue::Value(call.value()?.sensitive()))
}

pub(super) fn context_value(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let name = call.value()?;
    let path = call.require_text(&name, "a name")?;
    let (key, rest) = path.split_once("::").unwrap_or((path, ""));
    let Some(raw) = call.evaluator.system().context_value(call.name, key) else {
        return Ok(LazyValue::Value(Value::Null));
    };
    if call.name == "local" {
        let read = Read::Local(key.into());
        call.evaluator.tracker().record_read(read, None);
        call.evaluator.memo().note_local_read();
    }
    let mut value = call.evaluator.evaluate_raw(&raw, call.scene, None)?;
    for part in rest.split("::").filter(|part| !part.is_empty()) {
        value = value.get(part).cloned().unwrap_or_default();
    }
    if call.name == "secret" && !value.is_null() {
        value = value.sensitive();
    }
    Ok(LazyValue::Value(value))
}

/// The keys of a call of `get_secret`: the function itself and its options.
const SECRET_OPTIONS: [&str; 3] = ["get_secret", "from", "field"];

/// Gets a secret from a backend of the environment.
pub(super) fn backend_secret(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let unknown = call
        .map
        .keys()
        .find(|key| !SECRET_OPTIONS.contains(&&***key));
    if let Some(option) = unknown {
        let problem = format!("has no option `{option}`; its options are `from` and `field`");
        return Err(call.fail(problem));
    }
    let name = call.value()?;
    let name = call.require_text(&name, "the name of a secret")?.to_owned();
    let request = SecretRequest {
        name,
        from: call.text("from")?,
        field: call.text("field")?,
    };
    match call.evaluator.fetch_secret(&request) {
        Ok(value) => Ok(LazyValue::Value(value.sensitive())),
        Err(SecretError::NotPermitted) => Err(Error::Refused {
            name: SECRETS_PERMISSION.to_owned(),
            action: "runs a program or asks a server",
        }),
        Err(SecretError::Failed(problem)) => Err(call.fail(problem)),
    }
}

pub(super) fn external(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let name = call.value()?;
    let name = name.as_str().unwrap_or_default();
    let found = call.evaluator.scope().external_entity(name);
    let found = found.or_else(|| call.evaluator.find_instance(call.scene.entity(), name));
    let missing = || call.fail(format!("there is no external ensemble `{name}`"));
    found.map(LazyValue::Entity).ok_or_else(missing)
}

pub(super) fn metadata(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    call.evaluator.tracker().record_read(Read::Volatile, None);
    let metadata = call.evaluator.system().metadata();
    let key = call.value()?;
    if !key.is_truthy() {
        return Ok(LazyValue::Value(metadata.into()));
    }
    let key = key.as_str().unwrap_or_default();
    Ok(LazyValue::Value(
        metadata.get(key).cloned().unwrap_or_else(|| "".into()),
    ))
}

pub(super) fn arguments(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let arguments = call.evaluator.variable("arguments", call.scene)?;
    Ok(arguments.unwrap_or(LazyValue::Value(Value::Null)))
}

/// Reports an error in place of a secret that was dropped because its node template left the model.
pub(super) fn removed_secret(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let name = call.value()?;
    Err(call.fail(format!(
        "the value of `{name}` was a secret, and secrets are not kept when their template leaves \
         the model: restore the template to use it"
    )))
}

pub(super) fn unsupported_python(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    Err(call.fail("this function runs Python code, which is not supported"))
}
