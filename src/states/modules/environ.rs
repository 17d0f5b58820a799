//! The state module `environ`: sets environment variables for the commands of later states.
//!
//! Each command is a process of its own, so the variables are kept in the outcome and passed to later
//! commands.

use crate::states::modules::decision::failure;
use std::sync::Arc;

use crate::host::fact::{CommandSetting, Domain};
use crate::states::command_args::{trimmed_output, volatile_probe};
use crate::states::state_function::ENVIRON_KEY;
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
    refuse,
};
use crate::text::quote_word;
use crate::value::{Map, Value};

pub(in crate::states) static MODULE: StateModule = StateModule {
    name: "environ",
    functions: &[StateFunction::new("setenv", setenv)
        .about("Sets environment variables for the states and commands that follow.")
        .requires("value")
        .options("false_unsets clear_all update_minion permanent")],
    watch: None,
    aggregate: None,
};

/// Returns the new value of a variable; None if it already has the desired one.
///
/// A desired value of `False` unsets the variable (null) if `unsets`, else makes it empty.
fn desired_change(desired: &Value, now: Option<String>, unsets: bool) -> Option<Value> {
    let is_false = *desired.reveal() == Value::Bool(false);
    match (is_false, now) {
        (true, Some(_)) if unsets => Some(Value::Null),
        (true, None) if unsets => None,
        (true, now) => (now.as_deref() != Some("")).then(|| Value::str("")),
        (false, now) => {
            (now.unwrap_or_default() != desired.reveal().to_string()).then(|| desired.clone())
        }
    }
}

fn setenv(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let desired: Map = match call.args.get("value").map(Value::reveal) {
        Some(value @ (Value::Str(_) | Value::Bool(false))) => {
            Map::from_iter([(Arc::from(call.name), value.clone())])
        }
        Some(Value::Map(map)) => Map::clone(map),
        _ => {
            let comment = "Environ value must be string, dict or False";
            return failure(comment);
        }
    };
    if call.flag("clear_all", false) {
        let comment = "`clear_all` would leave commands without a PATH; name the variables instead";
        return refuse(comment.to_owned());
    }
    let unsets = call.flag("false_unsets", false);
    let mut changes = Map::new();
    let mut needs = Vec::new();
    for (key, value) in &desired {
        let now = match current_value(call, key, facts) {
            Ok(now) => now,
            Err(Halt::Needs(facts)) => {
                needs.extend(facts);
                continue;
            }
            Err(failed) => return Err(failed),
        };
        if let Some(change) = desired_change(value, now, unsets) {
            changes.insert(Arc::clone(key), change);
        }
    }
    if !needs.is_empty() {
        return Err(Halt::Needs(needs));
    }
    let outcome = match (changes.is_empty(), call.mode) {
        (true, Mode::Apply) => {
            StateOutcome::unchanged("Environ values were already set with the correct values")
        }
        (true, Mode::Test) => {
            StateOutcome::unchanged("Environ values are already set with the correct values")
        }
        (false, mode) => {
            let comment = match mode {
                Mode::Apply => "Environ values were set",
                Mode::Test => "Environ values will be changed",
            };
            let mut outcome = StateOutcome::changed(changes.clone(), comment);
            outcome.more.insert(ENVIRON_KEY.into(), changes.into());
            outcome
        }
    };
    Ok(StateDecision::Done(outcome))
}

/// Returns the current value of a variable: set by an earlier state, else read from the machine.
fn current_value(
    call: &StateCall<'_>,
    key: &str,
    facts: &FactCache,
) -> Result<Option<String>, Halt> {
    let set = call.args.get(ENVIRON_KEY).and_then(|set| set.get(key));
    if let Some(value) = set {
        return Ok((!value.is_null()).then(|| value.reveal().to_string()));
    }
    let mut request = volatile_probe(
        format!("printenv -- {}", quote_word(key)),
        CommandSetting::default(),
    );
    request.reads = Domain::Fixed;
    let found = facts.probe(request)?;
    Ok((found.code == 0).then(|| trimmed_output(&found.stdout)))
}
