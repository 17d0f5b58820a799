//! Template functions (`salt[…]`) that need no facts: they read grains, pillar, options and the state tree,
//! or only their arguments.
#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of a table have the same type"
)]

use std::sync::Arc;

use super::call::{CallResult, TemplateCall};
use super::map_merge::{merge_values, value_at_path};
use super::{
    command_functions, dig_functions, file_functions, file_system_functions, host_functions,
    machine_functions, network_functions, random_functions, tree_functions,
};
use crate::states::grains::SALT_VERSION;
use crate::states::{BASE_ENV, Halt, refuse};
use crate::text::Glob;
use crate::value::{Map, Value};

/// The implementation of a template function.
type TemplateFn = fn(&TemplateCall<'_>) -> CallResult;

/// The function that renders another file or a text. The library of templates has it.
pub(super) const RENDERER_FUNCTION: &str = "slsutil.renderer";

/// The table of functions by name.
const FUNCTIONS: &[(&str, TemplateFn)] = &[
    ("grains.get", grain),
    ("grains.item", |call| item(call, &call.vars.grains)),
    ("grains.items", |call| Ok(call.vars.grains.clone())),
    ("grains.has_value", |call| {
        let key = call.text(0, "key")?;
        Ok(value_at_path(&call.vars.grains, &key, ":")
            .is_some_and(|it| it.is_truthy())
            .into())
    }),
    ("grains.filter_by", |call| {
        let grain = call.text_or(1, "grain", "os_family");
        filter_by(call, &call.vars.grains, &grain)
    }),
    ("pillar.get", pillar),
    ("pillar.item", |call| item(call, &call.vars.pillar)),
    ("pillar.items", |call| Ok(call.vars.pillar.clone())),
    ("pillar.raw", |call| {
        let key = call.text_or(0, "key", "");
        if key.is_empty() {
            return Ok(call.vars.pillar.clone());
        }
        let found = call.vars.pillar.get(&key).cloned();
        Ok(found.unwrap_or_else(|| Map::new().into()))
    }),
    ("pillar.keys", |call| {
        let key = call.text(0, "key")?;
        let delimiter = call.text_or(1, "delimiter", ":");
        let found = value_at_path(&call.vars.pillar, &key, &delimiter);
        let Some(map) = found.as_ref().and_then(|found| found.reveal().as_map()) else {
            return Err(call.fail(format_args!("the pillar has no map `{key}`")));
        };
        Ok(Value::list(map.keys().cloned().map(Value::Str)))
    }),
    ("pillar.filter_by", |call| {
        filter_by(call, &call.vars.pillar, &call.text(1, "pillar")?)
    }),
    ("config.get", config),
    ("config.option", config),
    ("defaults.merge", |call| merge(call, 0)),
    ("slsutil.merge", |call| merge(call, 0)),
    ("slsutil.update", |call| merge(call, 0)),
    ("slsutil.merge_all", merge_all),
    ("slsutil.boolstr", |call| {
        let truth = call.arg_or_null(0, "value").is_truthy();
        let (place, name) = if truth { (1, "true") } else { (2, "false") };
        Ok(call
            .arg(place, name)
            .cloned()
            .unwrap_or_else(|| name.into()))
    }),
    ("log.debug", |_| Ok(true.into())),
    ("log.info", |_| Ok(true.into())),
    ("log.warning", |_| Ok(true.into())),
    ("log.error", |_| Ok(true.into())),
    ("log.critical", |_| Ok(true.into())),
    ("log.exception", |_| Ok(true.into())),
    ("test.echo", |call| Ok(call.arg_or_null(0, "text"))),
    ("test.ping", |_| Ok(true.into())),
    ("test.true", |_| Ok(true.into())),
    ("test.true_", |_| Ok(true.into())),
    ("test.false", |_| Ok(false.into())),
    ("test.false_", |_| Ok(false.into())),
    ("test.none", |_| Ok(Value::Null)),
    ("test.version", |_| Ok(SALT_VERSION.into())),
    ("test.arg", arg),
    ("test.kwarg", |call| Ok(call.options())),
    ("test.fib", fibonacci),
    ("test.exception", |call| {
        Err(call.fail(call.text_or(0, "message", "Test Exception")))
    }),
    ("cp.list_master", |call| {
        let prefix = call.text_or(1, "prefix", "");
        let paths = call
            .roots(0, call.run_env())
            .list(&prefix)
            .map_err(|error| call.fail(error))?;
        Ok(Value::list(paths.into_iter().map(Value::from)))
    }),
    ("cp.get_file_str", |call| {
        let path = call.text(0, "path")?;
        let path = path.strip_prefix("salt://").unwrap_or(&path);
        let bytes = call
            .roots(1, call.run_env())
            .read(path)
            .map_err(|error| call.fail(error))?;
        Ok(bytes.map_or(Value::Bool(false), |bytes| {
            String::from_utf8_lossy(&bytes).into_owned().into()
        }))
    }),
    ("slsutil.file_exists", |call| Ok(has_file(call)?.into())),
    ("slsutil.path_exists", |call| {
        Ok((has_file(call)? || has_folder(call)?).into())
    }),
    ("slsutil.dir_exists", |call| Ok(has_folder(call)?.into())),
    ("match.glob", |call| {
        let id = call.text_or(1, "minion_id", &call.vars.id);
        Ok(Glob::new(&call.text(0, "tgt")?).matches(&id).into())
    }),
];

/// Returns all template functions with their implementations.
fn all() -> impl Iterator<Item = &'static (&'static str, TemplateFn)> {
    let tables = [
        FUNCTIONS,
        tree_functions::FUNCTIONS,
        machine_functions::FUNCTIONS,
        command_functions::FUNCTIONS,
        file_functions::FUNCTIONS,
        file_system_functions::FUNCTIONS,
        network_functions::FUNCTIONS,
        host_functions::FUNCTIONS,
        dig_functions::FUNCTIONS,
        random_functions::FUNCTIONS,
    ];
    tables.into_iter().flatten()
}

/// Returns the names of all template functions.
pub(in crate::states) fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| *name).chain([RENDERER_FUNCTION])
}

/// Calls the template function of this name.
pub(super) fn call(call: &TemplateCall<'_>) -> CallResult {
    if let Some((_, function)) = all().find(|(name, _)| *name == call.function) {
        return function(call);
    }
    let names: Vec<&str> = names().collect();
    refuse(unknown_function(call.function, &names))
}

fn unknown_function(name: &str, known: &[&str]) -> String {
    let module = name.split('.').next().unwrap_or_default();
    let prefix = format!("{module}.");
    let near: Vec<&str> = known
        .iter()
        .copied()
        .filter(|it| it.starts_with(&prefix))
        .collect();
    if near.is_empty() {
        format!("templates cannot call `{name}`: the function is unknown")
    } else {
        format!(
            "templates cannot call `{name}`; the functions of `{module}` for templates are {}",
            near.join(", ")
        )
    }
}

/// Returns true if the state tree has a file at a path.
fn has_file(call: &TemplateCall<'_>) -> Result<bool, Halt> {
    let found = call.roots(1, BASE_ENV).read(&call.text(0, "path")?);
    Ok(found.map_err(|error| call.fail(error))?.is_some())
}

/// Returns true if the state tree has a file below a path.
fn has_folder(call: &TemplateCall<'_>) -> Result<bool, Halt> {
    let found = call.roots(1, BASE_ENV).list(&call.text(0, "path")?);
    Ok(!found.map_err(|error| call.fail(error))?.is_empty())
}

/// Returns a grain at a path, or a default.
fn grain(call: &TemplateCall<'_>) -> CallResult {
    let delimiter = call.text_or(2, "delimiter", ":");
    let found = value_at_path(&call.vars.grains, &call.text(0, "key")?, &delimiter);
    Ok(found.unwrap_or_else(|| call.arg(1, "default").cloned().unwrap_or_else(|| "".into())))
}

/// Returns a pillar value at a path, or a default. With `merge`, a default map or list is merged with the found one.
fn pillar(call: &TemplateCall<'_>) -> CallResult {
    let key = call.text(0, "key")?;
    let default = call.arg(1, "default").cloned().unwrap_or_else(|| "".into());
    let delimiter = call.text_or(4, "delimiter", ":");
    let found = value_at_path(&call.vars.pillar, &key, &delimiter);
    if !call.flag(2, "merge", false) {
        return Ok(found.unwrap_or(default));
    }
    let join = call.flag(3, "merge_nested_lists", false);
    match (&found, default.reveal()) {
        (Some(own @ Value::Map(_)), Value::Map(_)) => Ok(merge_values(&default, own, join)),
        (Some(Value::List(own)), Value::List(items)) => {
            let new = own.iter().filter(|item| !items.contains(item));
            Ok(Value::list(items.iter().chain(new).cloned()))
        }
        _ => Ok(found.unwrap_or(default)),
    }
}

fn item(call: &TemplateCall<'_>, from: &Value) -> CallResult {
    let names = call.args.iter().map(|name| name.reveal().to_string());
    let delimiter = call.text_or(usize::MAX, "delimiter", ":");
    let default = call.text_or(usize::MAX, "default", "");
    let pairs = names.map(|name| {
        let found = value_at_path(from, &name, &delimiter);
        let found = found.unwrap_or_else(|| default.as_str().into());
        (name, found)
    });
    Ok(Value::map(pairs))
}

/// Looks up a configuration value: in the options, then the grains, then the pillar.
fn config(call: &TemplateCall<'_>) -> CallResult {
    let key = call.text(0, "key")?;
    let words = call.vars;
    let places = [&words.options, &words.grains, &words.pillar];
    let found = places
        .into_iter()
        .find_map(|place| value_at_path(place, &key, ":"));
    let default = call.arg(1, "default").cloned();
    Ok(found.or(default).unwrap_or_else(|| "".into()))
}

fn merge(call: &TemplateCall<'_>, first: usize) -> CallResult {
    let (base, over) = (
        call.arg_or_null(first, "obj_a"),
        call.arg_or_null(first + 1, "obj_b"),
    );
    let over = if over.is_null() {
        call.arg_or_null(first + 1, "upd")
    } else {
        over
    };
    let join = call.flag(usize::MAX, "merge_lists", false);
    let place = match call.function {
        "slsutil.merge" => first + 2,
        _ => usize::MAX,
    };
    let strategy = call.text_or(place, "strategy", "smart");
    match (&*strategy, base.reveal().as_map(), over.reveal().as_map()) {
        ("smart" | "recurse" | "none", ..) => Ok(merge_values(base.reveal(), over.reveal(), join)),
        ("list", Some(base), Some(over)) => {
            let entry = |(key, value): (&Arc<str>, &Value)| {
                let both = over.get(&**key).map(|other| [value.clone(), other.clone()]);
                (Arc::clone(key), both.map_or_else(|| value.clone(), Value::list))
            };
            Ok(base.iter().map(entry).collect::<Map>().into())
        }
        ("overwrite", Some(base), Some(over)) => {
            let mut map = base.clone();
            map.extend(
                over.iter()
                    .map(|(key, value)| (Arc::clone(key), value.clone())),
            );
            Ok(map.into())
        }
        (other, ..) => Err(call.fail(format_args!(
            "the strategy `{other}` is not supported; use `smart`, `recurse`, `list`, `overwrite` or `none`"
        ))),
    }
}

fn merge_all(call: &TemplateCall<'_>) -> CallResult {
    let maps = call.arg_or_null(0, "lst");
    let join = call.flag(usize::MAX, "merge_lists", false);
    let maps = maps.as_list().into_iter().flatten();
    Ok(maps.fold(Value::from(Map::new()), |all, map| {
        merge_values(&all, map, join)
    }))
}

fn arg(call: &TemplateCall<'_>) -> CallResult {
    let args = Value::list(call.args.iter().cloned());
    Ok(Value::map([("args", args), ("kwargs", call.options())]))
}

fn fibonacci(call: &TemplateCall<'_>) -> CallResult {
    let count = call
        .arg(0, "num")
        .and_then(Value::as_int)
        .unwrap_or_default();
    let (mut number, mut next) = (0_i64, 1_i64);
    for _ in 0..count.clamp(0, 90) {
        (number, next) = (next, number + next);
    }
    Ok(Value::list([number.into(), 0.0.into()]))
}

/// Selects the entry of a map by a grain or a pillar value. The `base` entry is merged below it, the `merge` argument
/// on top.
fn filter_by(call: &TemplateCall<'_>, from: &Value, path: &str) -> CallResult {
    let values = match value_at_path(from, path, ":") {
        None => Vec::new(),
        Some(Value::List(values)) => values.iter().map(ToString::to_string).collect(),
        Some(one) => vec![one.reveal().to_string()],
    };
    choose_entry(call, &values)
}

/// Returns the entry of the first key that is a pattern of the first value, else of the second value, and so on.
fn choose_entry(call: &TemplateCall<'_>, values: &[String]) -> CallResult {
    let lookup = call.arg_or_null(0, "lookup_dict");
    let Some(lookup) = lookup.as_map() else {
        return Err(call.fail("the argument `lookup_dict` must be a map"));
    };
    let default = call.text_or(3, "default", "default");
    let globs: Vec<(Glob, &Value)> = lookup
        .iter()
        .map(|(key, entry)| (Glob::new(key), entry))
        .collect();
    // As in Salt, an entry that is null counts as none.
    let matching = values.iter().find_map(|value| {
        let entry = globs.iter().find(|(glob, _)| glob.matches(value));
        entry.map(|(_, entry)| *entry).filter(|it| !it.is_null())
    });
    let mut found = matching
        .or_else(|| lookup.get(&*default))
        .filter(|entry| !entry.is_null())
        .cloned();
    let base = call.arg(4, "base").filter(|base| base.is_truthy());
    if let Some(base) = base.and_then(|base| lookup.get(&*base.reveal().to_string())) {
        found = Some(match found {
            None => base.clone(),
            Some(entry) if base.reveal().as_map().is_some() => merge_maps(call, base, &entry)?,
            Some(entry) => entry,
        });
    }
    let over = call.arg_or_null(2, "merge");
    if over.is_truthy() {
        found = Some(match found {
            None if over.reveal().as_map().is_some() => over,
            found => merge_maps(call, &found.unwrap_or_default(), &over)?,
        });
    }
    Ok(found.unwrap_or_default())
}

/// Merges a map into another. Fails if one of them is no map.
fn merge_maps(call: &TemplateCall<'_>, base: &Value, over: &Value) -> CallResult {
    match (base.reveal(), over.reveal()) {
        (base @ Value::Map(_), over @ Value::Map(_)) => Ok(merge_values(base, over, false)),
        _ => Err(call.fail("the entries to be merged must be maps")),
    }
}
