//! Generates JSON Schemas for `ensemble.yaml`, `unfurl.yaml` and `tasks.yaml` from the key tables that the
//! readers use.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use super::drift_schema::drift_schema;
use super::progress_schema::progress_schema;
use crate::ensemble::{MANIFEST_KEYS, manifest_keys};
use crate::name::EnumWords;
use crate::project::{ENVIRONMENT_KEYS, PROJECT_KEYS};
use crate::tasks::TASKS_KEYS;
use crate::yaml::{KeyTable, OtherKeys, Shape};

/// The URI of the JSON Schema dialect in use.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A pattern for keys that every map may have: merge directives, and YAML's merge key `<<`.
const DIRECTIVES: &str = r"^(\+|<<$)";

/// The keys of a manifest, including those of its `environment` section.
static ENSEMBLE_KEYS: KeyTable = KeyTable {
    name: MANIFEST_KEYS.name,
    about: MANIFEST_KEYS.about,
    keys: &manifest_keys(Shape::Of(&ENVIRONMENT_KEYS)),
    required: MANIFEST_KEYS.required,
    rest: OtherKeys::Open,
};

/// The kinds of files and outputs that have a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaKind {
    Ensemble,
    Project,
    Tasks,
    Progress,
    Drift,
}

impl EnumWords for SchemaKind {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Ensemble, "ensemble", "`ensemble.yaml`"),
        (Self::Project, "project", "`unfurl.yaml`"),
        (Self::Tasks, "tasks", "`tasks.yaml`"),
        (Self::Progress, "progress", "a line of `--progress json`"),
        (Self::Drift, "drift", "the output of `drift --output json`"),
    ];
}

/// Adds the head of a schema to its other keys.
fn titled(title: &str, keys: Map<String, Json>) -> Json {
    let mut root = Map::new();
    root.insert("$schema".to_owned(), DIALECT.into());
    root.insert("title".to_owned(), title.into());
    root.extend(keys);
    root.into()
}

/// Returns the JSON Schema of a kind of file or output.
pub fn schema(of: SchemaKind) -> Json {
    let (title, table) = match of {
        SchemaKind::Ensemble => ("ensemble.yaml", &ENSEMBLE_KEYS),
        SchemaKind::Project => ("unfurl.yaml", &PROJECT_KEYS),
        SchemaKind::Tasks => ("tasks.yaml", &TASKS_KEYS),
        SchemaKind::Progress => return titled("progress", progress_schema()),
        SchemaKind::Drift => return titled("drift", drift_schema()),
    };
    let mut found = Vec::new();
    collect(table, &mut found);
    found.sort_unstable_by_key(|table: &&KeyTable| table.name);
    let definitions: Map<String, Json> = found
        .into_iter()
        .filter(|other| !std::ptr::eq(*other, table))
        .map(|table| (table.name.to_owned(), of_table(table)))
        .collect();
    let mut keys = Map::new();
    if let Json::Object(own) = of_table(table) {
        keys.extend(own.into_iter().filter(|(key, _)| key != "title"));
    }
    keys.insert("$defs".to_owned(), definitions.into());
    titled(title, keys)
}

/// Collects the tables reachable from a table, including itself.
fn collect(table: &'static KeyTable, found: &mut Vec<&'static KeyTable>) {
    let mut seen: HashSet<*const KeyTable> = HashSet::new();
    let mut stack = vec![table];
    while let Some(table) = stack.pop() {
        if !seen.insert(table) {
            continue;
        }
        found.push(table);
        let of_rest = match &table.rest {
            OtherKeys::Each(shape) => Some(*shape),
            OtherKeys::Refused | OtherKeys::Open => None,
        };
        let shapes = table.keys.iter().map(|key| key.shape).chain(of_rest);
        stack.extend(shapes.filter_map(table_of));
    }
}

fn table_of(shape: Shape) -> Option<&'static KeyTable> {
    match shape {
        Shape::Of(table)
        | Shape::TextOr(table)
        | Shape::MapOf(table)
        | Shape::MapOfTextOr(table)
        | Shape::ListOf(table)
        | Shape::Imports(table)
        | Shape::Steps(table)
        | Shape::Named(table) => Some(table),
        _ => None,
    }
}

fn of_table(table: &KeyTable) -> Json {
    let properties = table.keys.iter().map(|key| {
        let mut schema = of_shape(key.shape);
        schema.insert("description".to_owned(), key.about.into());
        (key.name.to_owned(), Json::Object(schema))
    });
    let mut schema = Map::new();
    schema.insert("title".to_owned(), table.name.replace('_', " ").into());
    schema.insert("description".to_owned(), table.about.into());
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Json::Object(properties.collect()));
    let others = match &table.rest {
        OtherKeys::Open => None,
        OtherKeys::Refused => Some(Json::from(false)),
        OtherKeys::Each(shape) => Some(of_shape(*shape).into()),
    };
    if let Some(others) = others {
        schema.insert("patternProperties".to_owned(), directives());
        schema.insert("additionalProperties".to_owned(), others);
    }
    if !table.required.is_empty() {
        // A merge directive may provide required keys, so they are required only without directives.
        let plain = json!({ "propertyNames": { "not": { "pattern": DIRECTIVES } } });
        schema.insert("if".to_owned(), plain);
        schema.insert("then".to_owned(), json!({ "required": table.required }));
    }
    schema.into()
}

fn directives() -> Json {
    json!({ DIRECTIVES: { "description": "A merge directive" } })
}

/// Returns the schema of a key's value. Null is always allowed.
fn of_shape(shape: Shape) -> Map<String, Json> {
    let schema = match shape {
        Shape::Any => json!({}),
        Shape::Text => json!({ "type": ["string", "null"] }),
        Shape::Scalar => json!({ "type": ["string", "number", "boolean", "null"] }),
        Shape::Flag => json!({ "type": ["boolean", "null"] }),
        Shape::Map => json!({ "type": ["object", "null"] }),
        Shape::List => json!({ "type": ["array", "null"] }),
        Shape::Names => json!({
            "type": ["string", "array", "null"],
            "items": { "type": ["string", "object"] },
        }),
        Shape::Words(words) => json!({ "enum": words }),
        Shape::Of(table) => or_nothing(&reference(table)),
        Shape::TextOr(table) => text_or(table),
        Shape::MapOf(table) => map_of(&or_nothing(&reference(table))),
        Shape::MapOfTextOr(table) => map_of(&text_or(table)),
        Shape::ListOf(table) => list_of(&reference(table)),
        Shape::Imports(table) => {
            let one = text_or(table);
            let named =
                json!({ "type": "object", "maxProperties": 1, "additionalProperties": one });
            list_of(&json!({ "anyOf": [one, named] }))
        }
        Shape::Steps(table) => {
            let one = json!({ "anyOf": [{ "type": "string" }, reference(table)] });
            json!({ "type": ["string", "array", "null"], "items": one })
        }
        Shape::Named(table) => {
            let map = map_of(&text_or(table));
            json!({ "anyOf": [list_of(&map), map] })
        }
    };
    schema.as_object().cloned().unwrap_or_default()
}

fn reference(table: &KeyTable) -> Json {
    json!({ "$ref": format!("#/$defs/{}", table.name) })
}

fn or_nothing(schema: &Json) -> Json {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

fn text_or(table: &KeyTable) -> Json {
    json!({ "anyOf": [{ "type": ["string", "null"] }, reference(table)] })
}

fn map_of(schema: &Json) -> Json {
    json!({
        "type": ["object", "null"],
        "patternProperties": directives(),
        "additionalProperties": schema,
    })
}

fn list_of(schema: &Json) -> Json {
    json!({ "type": ["array", "null"], "items": schema })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_one_file_have_names_of_their_own() {
        for root in [&ENSEMBLE_KEYS, &PROJECT_KEYS, &TASKS_KEYS] {
            let mut found = Vec::new();
            collect(root, &mut found);
            let names: HashSet<&str> = found.iter().map(|table| table.name).collect();
            assert_eq!(names.len(), found.len());
        }
    }

    #[test]
    fn every_key_says_what_it_is_for() {
        let mut found = Vec::new();
        collect(&ENSEMBLE_KEYS, &mut found);
        collect(&PROJECT_KEYS, &mut found);
        collect(&TASKS_KEYS, &mut found);
        for table in found {
            assert!(
                table.keys.iter().all(|key| !key.about.is_empty()),
                "{}",
                table.name
            );
        }
    }
}
