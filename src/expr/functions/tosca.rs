//! The TOSCA functions: `get_input`, `get_property`, `get_attribute`, `get_artifact`, `get_nodes_of_type`
//! and `find_connection`.

use crate::expr::error::Error;
use crate::expr::lazy::{LazyValue, Scene};
use crate::expr::reads::Read;
use crate::value::Value;

use super::call::FunctionCall;
use super::files::absolute_path;

pub(super) fn get_input(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let (name, default) = match call.raw {
        Value::List(items) => (items.first().unwrap_or(&Value::Null), items.get(1)),
        other => (other, None),
    };
    let name = call.evaluate(name)?;
    let name = call.require_text(&name, "the name of an input")?;
    let root = call.evaluator.scope().root(call.scene.entity());
    let found = match call.evaluator.attribute_item(root, "inputs")? {
        Some(inputs) => call.evaluator.get_key(&inputs, name, None, call.scene)?,
        None => None,
    };
    match (found, default) {
        (Some(item), _) => Ok(item),
        (None, Some(default)) => call.evaluate(default).map(LazyValue::Value),
        (None, None) => Err(Error::UndefinedInput {
            name: name.to_owned(),
        }),
    }
}

/// `get_property: [entity, name, …]`, which has the value of `get_attribute`.
///
/// Unfurl reads the property in the model, so its records do not list the property, but they list what the property
/// is computed from.
pub(super) fn get_property(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let tracker = call.evaluator.tracker();
    tracker.begin_frame();
    let found = get_attribute(call);
    let mut frame = tracker.end_frame();
    let names = call.raw.as_list().into_iter().flatten().skip(1).take(2);
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    let is_named =
        |read: &Read| matches!(read, Read::Attribute { name, .. } if names.contains(&&**name));
    frame.reads.mark_unseen(is_named);
    call.evaluator.memo().note_unseen_read();
    tracker.record_reads(&frame.reads);
    for slot in &frame.slots {
        tracker.record_slot(slot);
    }
    found
}

/// `get_attribute: [entity, name, …]`. The first name may also be a requirement or a capability whose
/// attribute the next name selects.
pub(super) fn get_attribute(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let args = call.marked_values()?;
    let is_data = args.first().is_some_and(Value::has_data);
    let mut args = args.iter().map(|arg| arg.reveal().to_string());
    let (Some(entity), Some(candidate)) = (args.next(), args.next()) else {
        return Err(call.fail("takes an entity and the name of an attribute"));
    };
    let rest: Vec<_> = args.collect();
    let scene = call.scene.at(LazyValue::Entity(call.scene.entity()));
    let mut results = Vec::new();
    let mut starts = Vec::new();
    for start in find_entities(call, &entity, is_data, &scene)? {
        match call.evaluator.values(&start)? {
            Some(items) if start.is_list() => starts.extend(items),
            _ => starts.push(start),
        }
    }
    for start in starts {
        let Some(of) = start.as_entity() else {
            continue;
        };
        if let Some(found) = find_in(call, of, &candidate, &rest, &scene)? {
            results.push(found);
            if !rest.is_empty() {
                break;
            }
        }
    }
    let found = call.evaluator.combine_results(results)?;
    Ok(found.unwrap_or(LazyValue::Value(Value::Null)))
}

/// Returns the entities with a name or keyword. A name from outside is not evaluated as a path.
fn find_entities(
    call: &FunctionCall<'_>,
    entity: &str,
    is_data: bool,
    scene: &Scene,
) -> Result<Vec<LazyValue>, Error> {
    let path = keyword(entity);
    if is_data && path.starts_with("::") {
        let found = call.evaluator.find_instance(scene.entity(), entity);
        return Ok(found.map(LazyValue::Entity).into_iter().collect());
    }
    call.evaluator.evaluate_path(&path, scene)
}

fn find_in(
    call: &FunctionCall<'_>,
    of: crate::value::Handle,
    candidate: &str,
    rest: &[String],
    scene: &Scene,
) -> Result<Option<LazyValue>, Error> {
    let start = LazyValue::Entity(of);
    let mut item = match call.evaluator.get_key(&start, candidate, None, scene)? {
        Some(item) => item,
        None if rest.is_empty() => return Ok(None),
        None => {
            let names = call.evaluator.special(of, ".names");
            let named = names
                .as_ref()
                .and_then(|names| names.get(candidate))
                .cloned();
            let Some(named) = named else {
                return Ok(None);
            };
            LazyValue::Value(named)
        }
    };
    for part in rest {
        let index = part.parse().ok();
        if item.is_list() && index.is_none() {
            let items = call.evaluator.values(&item)?.unwrap_or_default();
            let mut found = items
                .into_iter()
                .filter_map(|item| call.evaluator.get_key(&item, part, None, scene).transpose());
            match found.next() {
                Some(next) => item = next?,
                None => return Ok(None),
            }
            continue;
        }
        match call.evaluator.get_key(&item, part, index, scene)? {
            Some(next) => item = next,
            None => return Ok(None),
        }
    }
    Ok(Some(item))
}

/// Returns the path for a TOSCA keyword such as `SELF`, or for the name of a node template.
fn keyword(entity: &str) -> String {
    match entity {
        "SELF" => ".".to_owned(),
        "SOURCE" => ".source".to_owned(),
        "TARGET" => ".target".to_owned(),
        "ORCHESTRATOR" => "::localhost".to_owned(),
        "HOST" => ".hosted_on".to_owned(),
        "OPERATION_HOST" => "$OPERATION_HOST".to_owned(),
        name => format!("::{name}"),
    }
}

pub(super) fn get_nodes_of_type(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let name = call.value()?;
    let name = call.require_text(&name, "the name of a type")?;
    let from = call.scene.entity();
    let root = call.evaluator.scope().root(from);
    let every = call.evaluator.root_and_instances(from).into_iter();
    let matching = every.filter(|of| *of != root && call.evaluator.scope().is_type(*of, name));
    Ok(LazyValue::Value(Value::list(
        matching.map(|of| call.evaluator.scope().reference(of)),
    )))
}

pub(super) fn get_artifact(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let args = call.marked_values()?;
    let (Some(entity), Some(name)) = (args.first(), args.get(1)) else {
        return Err(call.fail("takes an entity and the name of an artifact"));
    };
    let Some(name) = name.as_str() else {
        return Ok(LazyValue::Value(Value::Null));
    };
    let is_data = entity.has_data();
    let entities = match entity.reveal() {
        Value::Entity(of) => vec![of.handle()],
        Value::Str(entity) => {
            let scene = call.scene.at(LazyValue::Entity(call.scene.entity()));
            let found = find_entities(call, entity, is_data, &scene)?;
            found.iter().filter_map(LazyValue::as_entity).collect()
        }
        Value::Null => return Ok(LazyValue::Value(super::image::parse_image(name))),
        _ => Vec::new(),
    };
    let scope = call.evaluator.scope();
    let artifact = entities.into_iter().find_map(|of| scope.artifact(of, name));
    let artifact = artifact.unwrap_or_default();
    Ok(LazyValue::Value(match artifact.as_str() {
        Some(path) if path.starts_with('/') => {
            absolute_path(call.evaluator, call.scene, path, None, false)?
        }
        Some(image) if !image.contains("://") => super::image::parse_image(image),
        _ => artifact,
    }))
}

pub(super) fn find_connection(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let from = call.scene.entity();
    let target = match call.value()?.reveal() {
        Value::Entity(target) => target.handle(),
        Value::Null => call.evaluator.scope().root(from),
        other => return Err(call.fail(format!("takes a node, not {}", other.kind()))),
    };
    let relation = call.text("relation")?;
    let relation = relation
        .as_deref()
        .unwrap_or("tosca.relationships.ConnectsTo");
    let host = call.evaluator.variable("OPERATION_HOST", call.scene)?;
    let from = host.as_ref().and_then(LazyValue::as_entity).unwrap_or(from);
    let connection = call.evaluator.scope().connection(from, target, relation);
    Ok(connection.map_or(LazyValue::Value(Value::Null), LazyValue::Entity))
}
