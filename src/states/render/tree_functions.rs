//! Template functions (`salt[…]`) that list the state tree, match the machine, and compute digests and versions.
//! They need no facts.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::call::{CallResult, TemplateCall};
use super::filters::apply_filter;
use super::map_merge::{merge_values, value_at_path};
use super::text_filters::apply_text_filter;
use super::{Matcher, MinionData};
use crate::expr::pyyaml_text;
use crate::states::Halt;
use crate::states::modules::compare_versions;
use crate::value::{Map, Value};

/// The implementation of a template function.
type TreeFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, TreeFn)] = &[
    ("cp.list_states", list_states),
    ("cp.list_master_dirs", list_folders),
    // Without a master there is no mine, and each question finds nothing.
    ("mine.get", |call| {
        const ARGUMENTS: [&str; 4] = ["tgt", "fun", "tgt_type", "exclude_minion"];
        match call.named.keys().find(|key| !ARGUMENTS.contains(&&***key)) {
            Some(key) => Err(call.fail(format_args!("there is no argument `{key}`"))),
            None => Ok(Map::new().into()),
        }
    }),
    ("pillar.fetch", |call| found(call, &call.vars.pillar)),
    ("grains.fetch", |call| found(call, &call.vars.grains)),
    ("pillar.ls", |call| Ok(keys(&call.vars.pillar))),
    ("grains.ls", |call| Ok(keys(&call.vars.grains))),
    ("grains.equals", |call| {
        let value = value_at_path(&call.vars.grains, &call.text(0, "key")?, ":");
        let wanted = call.text(1, "value")?;
        Ok(value
            .is_some_and(|value| value.to_string() == wanted)
            .into())
    }),
    ("match.compound", |call| matches(call, Matcher::Compound)),
    ("match.filter_by", filter_by),
    ("match.search_by", search_by),
    ("match.grain", |call| matches(call, Matcher::Grain)),
    ("match.grain_pcre", |call| matches(call, Matcher::GrainPcre)),
    ("match.ipcidr", |call| matches(call, Matcher::Ipcidr)),
    ("match.list", |call| matches(call, Matcher::List)),
    ("match.pcre", |call| matches(call, Matcher::Pcre)),
    ("match.pillar", |call| matches(call, Matcher::Pillar)),
    ("match.pillar_pcre", |call| {
        matches(call, Matcher::PillarPcre)
    }),
    ("pkg.version_cmp", |call| {
        let (one, other) = (call.text(0, "pkg1")?, call.text(1, "pkg2")?);
        Ok(i64::from(compare_versions(&one, &other) as i8).into())
    }),
    ("slsutil.serialize", serialize),
    ("slsutil.deserialize", |call| {
        let text = call.arg_or_null(1, "stream_or_string");
        let filter = match &*call.text(0, "serializer")? {
            "json" => "load_json",
            "yaml" => "load_yaml",
            other => {
                return Err(call.fail(format_args!(
                    "the format `{other}` is not supported; use json or yaml"
                )));
            }
        };
        apply_filter(filter, &[text], &Map::new()).map_err(|problem| call.fail(problem))
    }),
    ("state.sls_exists", |call| {
        let written = call.arg_or_null(0, "mods");
        let names: Vec<String> = match written.reveal() {
            Value::List(names) => names.iter().map(|name| name.reveal().to_string()).collect(),
            text => text.to_string().split(',').map(str::to_owned).collect(),
        };
        let roots = call.roots(usize::MAX, call.run_env());
        for name in names {
            let path = name.trim().replace('.', "/");
            let mut files = [format!("{path}.sls"), format!("{path}/init.sls")].into_iter();
            let is_there = |path: &String| matches!(roots.read(path), Ok(Some(_)));
            if !files.any(|path| is_there(&path)) {
                return Ok(false.into());
            }
        }
        Ok(true.into())
    }),
    ("hashutil.digest", |call| {
        let kind = call.text_or(1, "checksum", "md5");
        filtered(call, &kind)
    }),
    ("hashutil.md5_digest", |call| filtered(call, "md5")),
    ("hashutil.sha256_digest", |call| filtered(call, "sha256")),
    ("hashutil.sha512_digest", |call| filtered(call, "sha512")),
    ("hashutil.base64_b64encode", |call| {
        filtered(call, "base64_encode")
    }),
    ("hashutil.base64_b64decode", |call| {
        filtered(call, "base64_decode")
    }),
    ("hashutil.base64_encodestring", |call| {
        Ok(format!("{}\n", filtered(call, "base64_encode")?).into())
    }),
    ("hashutil.base64_decodestring", |call| {
        filtered(call, "base64_decode")
    }),
    ("hashutil.hmac_compute", |call| {
        filtered(call, "hmac_compute")
    }),
    ("hashutil.hmac_signature", |call| filtered(call, "hmac")),
];

fn keys(value: &Value) -> Value {
    let names = value.as_map().map(Map::keys).into_iter().flatten();
    Value::list(names.cloned().map(Value::Str))
}

fn found(call: &TemplateCall<'_>, from: &Value) -> CallResult {
    let default = call.arg(1, "default").cloned().unwrap_or_else(|| "".into());
    Ok(value_at_path(from, &call.text(0, "key")?, ":").unwrap_or(default))
}

fn files(call: &TemplateCall<'_>, folder: &str) -> Result<Vec<String>, Halt> {
    let listed = call.roots(0, call.run_env()).list(folder);
    listed.map_err(|error| call.fail(error))
}

/// The names of all state files of the tree, as `include` takes them.
fn list_states(call: &TemplateCall<'_>) -> CallResult {
    let paths = files(call, "")?;
    let names = paths.iter().filter_map(|path| {
        let path = path.strip_suffix(".sls")?;
        Some(path.strip_suffix("/init").unwrap_or(path).replace('/', "."))
    });
    let names: BTreeSet<String> = names.collect();
    Ok(Value::list(names.into_iter().map(Value::from)))
}

/// The folders of the tree that have files, at any depth, whose path begins with the prefix.
fn list_folders(call: &TemplateCall<'_>) -> CallResult {
    let prefix = call.text_or(1, "prefix", "");
    let mut folders = BTreeSet::new();
    for path in files(call, "")? {
        let ends = path.match_indices('/').map(|(place, _)| place);
        folders.extend(ends.map(|place| path[..place].to_owned()));
    }
    let folders = folders.into_iter().filter(|path| path.starts_with(&prefix));
    Ok(Value::list(folders.map(Value::from)))
}

/// Returns true if this machine, or a minion of the given name with its data, is a target.
fn matches(call: &TemplateCall<'_>, matcher: Matcher) -> CallResult {
    let minion = minion(call, 1);
    Ok(matcher.matches(&call.text(0, "tgt")?, &minion).into())
}

/// Returns this machine, or a minion of the given name with its data.
fn minion(call: &TemplateCall<'_>, place: usize) -> MinionData {
    let vars = call.vars;
    MinionData {
        id: call.text_or(place, "minion_id", &vars.id).into(),
        roots: vars.roots.clone(),
        grains: vars.grains.clone(),
        pillar: vars.pillar.clone(),
        options: vars.options.clone(),
    }
}

/// Returns the matcher that the argument `tgt_type` names.
fn matcher(call: &TemplateCall<'_>) -> Result<Matcher, Halt> {
    let name = call.text_or(1, "tgt_type", "compound");
    Matcher::from_name(&name)
        .ok_or_else(|| call.fail(format_args!("`{name}` is no type of targets")))
}

fn lookup<'a>(call: &'a TemplateCall<'_>) -> Result<&'a Map, Halt> {
    let lookup = call.arg(0, "lookup").and_then(|map| map.reveal().as_map());
    lookup.ok_or_else(|| call.fail("the argument `lookup` must be a map"))
}

/// Returns the value of the first key that is a target for the machine, merged with a map, or that of a default.
fn filter_by(call: &TemplateCall<'_>) -> CallResult {
    let (matcher, minion, lookup) = (matcher(call)?, minion(call, 2), lookup(call)?);
    let Some((_, found)) = lookup
        .iter()
        .find(|(target, _)| matcher.matches(target, &minion))
    else {
        let default = call.text_or(5, "default", "default");
        return Ok(lookup.get(&*default).cloned().unwrap_or_default());
    };
    let over = call.arg_or_null(3, "merge");
    match (found.reveal(), over.reveal()) {
        (_, over) if !over.is_truthy() => Ok(found.clone()),
        (Value::Null, over @ Value::Map(_)) => Ok(over.clone()),
        (found @ Value::Map(_), over @ Value::Map(_)) => Ok(merge_values(
            found,
            over,
            call.flag(4, "merge_lists", false),
        )),
        _ => Err(call.fail("filter_by merge argument must be a dictionary.")),
    }
}

/// Returns the keys that have a target for the machine among their values, or null.
fn search_by(call: &TemplateCall<'_>) -> CallResult {
    let (matcher, minion) = (matcher(call)?, minion(call, 2));
    let mut found = Vec::new();
    for (key, targets) in lookup(call)? {
        let targets = targets.reveal().as_list().into_iter().flatten();
        let fits = targets.filter(|it| matcher.matches(&it.reveal().to_string(), &minion));
        found.extend(fits.map(|_| Value::Str(Arc::clone(key))));
    }
    Ok(if found.is_empty() {
        Value::Null
    } else {
        Value::list(found)
    })
}

/// Writes a value as JSON or YAML. Other formats are refused.
fn serialize(call: &TemplateCall<'_>) -> CallResult {
    let value = call.arg_or_null(1, "obj");
    match &*call.text(0, "serializer")? {
        "json" => {
            let unsorted = false.into();
            apply_filter("json", &[value, unsorted], &Map::new())
                .map_err(|problem| call.fail(problem))
        }
        "yaml" if !call.flag(usize::MAX, "default_flow_style", true) => {
            let text = pyyaml_text(value.reveal()).map_err(|problem| call.fail(problem))?;
            Ok(text.trim_end_matches('\n').into())
        }
        "yaml" => {
            let sorted = value.reveal().sorted();
            apply_filter("yaml", &[sorted], &Map::new()).map_err(|problem| call.fail(problem))
        }
        other => Err(call.fail(format_args!(
            "the format `{other}` is not supported; use json or yaml"
        ))),
    }
}

/// The answer of the filter that does the same as the function.
fn filtered(call: &TemplateCall<'_>, filter: &str) -> CallResult {
    match apply_text_filter(filter, call.args, call.named) {
        Some(answer) => answer.map_err(|problem| call.fail(problem)),
        None => Err(call.fail(format_args!("`{filter}` is not a digest"))),
    }
}
