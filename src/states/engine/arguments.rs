//! The arguments of a state function: checks that the function exists and has its required parameters, and
//! adds the keywords and environment variables it takes (S38, S45).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::states::state_function::{find_function, similar_function};
use crate::states::{Chunk, ModuleTable, StateFunction, StateModule};
use crate::value::{Map, Value};

/// Finds the module and function of a chunk. Returns the comment of the failed state if the function or a
/// required parameter is missing.
pub(super) fn callable_function(
    modules: ModuleTable,
    chunk: &Chunk,
) -> Result<(&'static StateModule, &'static StateFunction), String> {
    let (module, function) = find_function(modules, &chunk.state, &chunk.fun);
    let (Some(module), Some(function)) = (module, function) else {
        return Err(not_found_comment(modules, chunk, &chunk.fun));
    };
    let mut missing = String::new();
    for key in function.required() {
        if !chunk.args.contains_key(key) && !chunk.keywords.contains_key(key) {
            let _ = writeln!(
                missing,
                "Missing parameter {key} for state {}.{}",
                chunk.state, chunk.fun
            );
        }
    }
    if missing.is_empty() {
        Ok((module, function))
    } else {
        Err(missing)
    }
}

/// The failure comment of a state whose function does not exist, with a spelling hint.
pub(super) fn not_found_comment(modules: ModuleTable, chunk: &Chunk, fun: &str) -> String {
    let full = format!("{}.{fun}", chunk.state);
    let mut comment = format!(
        "State '{full}' was not found in SLS '{}'\nReason: '{full}' is not available.\n",
        chunk.sls
    );
    if let Some(hint) = similar_function(modules, &chunk.state, fun) {
        let _ = writeln!(comment, "Hint: {hint}");
    }
    comment
}

/// The arguments for a call: those of the chunk, the compiler keywords that the function takes itself, and
/// the variables set by `environ.setenv` so far.
pub(super) fn call_arguments<'a>(
    chunk: &'a Chunk,
    function: Option<&StateFunction>,
    environ: &Map,
) -> Cow<'a, Map> {
    let mut args = Cow::Borrowed(&chunk.args);
    let takes = |key: &str| function.is_some_and(|it| it.takes(key));
    for (key, value) in &chunk.keywords {
        if takes(key) {
            args.to_mut().insert(Arc::clone(key), value.clone());
        }
    }
    if environ.is_empty() {
        return args;
    }
    if &*chunk.state == "environ" {
        args.to_mut()
            .insert("__environ__".into(), environ.clone().into());
    } else if takes("env") {
        let supplied = chunk.args.get("env").cloned();
        args.to_mut()
            .insert("env".into(), merge_environment(supplied.as_ref(), environ));
    }
    args
}

/// Merges the variables set by `environ.setenv` with an `env` argument, which takes precedence.
pub(super) fn merge_environment(supplied: Option<&Value>, environ: &Map) -> Value {
    let set: Map = environ
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (Arc::clone(key), value.clone()))
        .collect();
    match supplied.map(Value::reveal) {
        None | Some(Value::Null) => set.into(),
        Some(Value::List(items)) => {
            let mut all = vec![Value::from(set)];
            all.extend(items.iter().cloned());
            all.into()
        }
        Some(other) => Value::list([set.into(), other.clone()]),
    }
}

/// The warnings about arguments that the function does not take, or that have no effect here.
pub(super) fn argument_warnings(chunk: &Chunk, function: &StateFunction) -> Vec<String> {
    if function.takes_any() {
        return Vec::new();
    }
    let full = format!("{}.{}", chunk.state, chunk.fun);
    let warning = |(key, value): (&Arc<str>, &Value)| {
        if &**key != "name" && !function.takes(key) {
            return Some(format!(
                "'{key}' is an invalid keyword argument for '{full}'"
            ));
        }
        let is_ignored = function.ignores(key) && value.is_truthy();
        is_ignored.then(|| format!("'{key}' of '{full}' has no effect in this program"))
    };
    chunk.args.iter().filter_map(warning).collect()
}
