//! The state module `environ`: variables for the commands of later states.

use crate::converge::module::command::failure;
use std::sync::Arc;

use crate::converge::function::ENVIRON;
use crate::converge::shell::{output, probe};
use crate::converge::{Call, Facts, Function, Halt, Mode, Module, Outcome, Verdict, refuse};
use crate::host::fact::{Domain, Setting};
use crate::text::quoted;
use crate::value::{Map, Value};

/// The module.
pub(in crate::converge) static MODULE: Module = Module {
    name: "environ",
    functions: &[Function::new("setenv", setenv)
        .requires("value")
        .options("false_unsets clear_all update_minion permanent")],
    watch: None,
    aggregate: None,
};

/// What a variable becomes, if it is not as wanted; a false one is unset or made empty.
fn change(wanted: &Value, now: Option<String>, unsets: bool) -> Option<Value> {
    let is_false = *wanted.reveal() == Value::Bool(false);
    match (is_false, now) {
        (true, Some(_)) if unsets => Some(Value::Null),
        (true, None) if unsets => None,
        (true, now) => (now.as_deref() != Some("")).then(|| Value::str("")),
        (false, now) => {
            (now.unwrap_or_default() != wanted.reveal().to_string()).then(|| wanted.clone())
        }
    }
}

fn setenv(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let wanted: Map = match call.args.get("value").map(Value::reveal) {
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
    for (key, value) in &wanted {
        let now = match current(call, key, facts) {
            Ok(now) => now,
            Err(Halt::Needs(facts)) => {
                needs.extend(facts);
                continue;
            }
            Err(failed) => return Err(failed),
        };
        if let Some(change) = change(value, now, unsets) {
            changes.insert(Arc::clone(key), change);
        }
    }
    if !needs.is_empty() {
        return Err(Halt::Needs(needs));
    }
    let outcome = match (changes.is_empty(), call.mode) {
        (true, Mode::Apply) => {
            Outcome::same("Environ values were already set with the correct values")
        }
        (true, Mode::Test) => {
            Outcome::same("Environ values are already set with the correct values")
        }
        (false, mode) => {
            let comment = match mode {
                Mode::Apply => "Environ values were set",
                Mode::Test => "Environ values will be changed",
            };
            let mut outcome = Outcome::changed(changes.clone(), comment);
            outcome.more.insert(ENVIRON.into(), changes.into());
            outcome
        }
    };
    Ok(Verdict::Done(outcome))
}

/// What a variable is now: what a state has set, or what is there.
fn current(call: &Call<'_>, key: &str, facts: &Facts) -> Result<Option<String>, Halt> {
    let set = call.args.get(ENVIRON).and_then(|set| set.get(key));
    if let Some(value) = set {
        return Ok((!value.is_null()).then(|| value.reveal().to_string()));
    }
    let mut asked = probe(format!("printenv -- {}", quoted(key)), Setting::default());
    asked.reads = Domain::Fixed;
    let found = facts.probe(asked)?;
    Ok((found.code == 0).then(|| output(&found.stdout)))
}
