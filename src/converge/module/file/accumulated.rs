//! `file.accumulated`: texts gathered for a file that another state writes.

use crate::converge::module::command::unchanged;
use crate::converge::{Call, Chunk, Facts, Halt, Requisite, Target, Verdict, refuse};
use crate::value::{Map, Value};

/// Decides `file.accumulated`: it changes nothing by itself.
pub(super) fn accumulated(call: &Call<'_>, _: &Facts) -> Result<Verdict, Halt> {
    let file = call.required("filename")?;
    let Some(text) = call.arg("text") else {
        return refuse("No text supplied for accumulator");
    };
    if !is_wanted(call) {
        return refuse(format!(
            "Orphaned accumulator {} in {}:{}",
            call.name, call.sls, call.id
        ));
    }
    let comment = if texts(text).is_empty() {
        String::new()
    } else {
        format!(
            "Accumulator {} for file {file} was charged by text",
            call.name
        )
    };
    unchanged(comment)
}

/// Whether a state of files requires or watches this one.
fn is_wanted(call: &Call<'_>) -> bool {
    let Some((low, own)) = call.chunk else {
        return true;
    };
    low.chunks.iter().any(|chunk| {
        &*chunk.state == "file"
            && chunk.links.iter().any(|link| {
                matches!(link.kind, Requisite::Require | Requisite::Watch)
                    && matches!(link.target, Target::Set(set)
                        if low.sets.get(set as usize).is_some_and(|set| set.contains(&own)))
            })
    })
}

/// Texts as a list; one is a list of one.
fn texts(value: &Value) -> Vec<Value> {
    match value.reveal() {
        Value::List(items) => items.to_vec(),
        _ => vec![value.clone()],
    }
}

/// What was accumulated for a file, by the name of the accumulator; none if nothing was. The
/// states that the caller requires or watches come first of all: they are what was charged before.
pub(super) fn accumulators(call: &Call<'_>, path: &str) -> Option<Value> {
    let (low, own) = call.chunk?;
    let mut all = Map::new();
    let is_charged = |kind| matches!(kind, Requisite::Require | Requisite::Watch);
    for chunk in low.wanted_by(own, is_charged) {
        charge(&mut all, chunk, path);
    }
    (!all.is_empty()).then(|| Value::map(all))
}

fn charge(all: &mut Map, chunk: &Chunk, path: &str) {
    let is_for = |file: &Value| file.as_str() == Some(path);
    if (&*chunk.state, &*chunk.fun) != ("file", "accumulated")
        || !chunk.args.get("filename").is_some_and(is_for)
    {
        return;
    }
    let Some(text) = chunk.args.get("text").filter(|text| !text.is_null()) else {
        return;
    };
    let mut charged = match all.get(&chunk.name).and_then(Value::as_list) {
        Some(items) => items.clone(),
        None => Vec::new(),
    };
    for text in texts(text) {
        if !charged.contains(&text) {
            charged.push(text);
        }
    }
    all.insert(chunk.name.clone(), Value::list(charged));
}
