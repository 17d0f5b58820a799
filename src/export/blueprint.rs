//! Exports the blueprint of a topology (`ApplicationBlueprint`): its inputs, outputs and topmost templates.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use super::requirement::empty_constraint;
use super::schema::{is_plain, of_properties};
use super::types::{Catalog, empty_type};
use super::values::{self, Object, ObjectExt as _, is_user_visible};
use crate::name::TemplateName;
use crate::tosca::{NodeTemplate, NodeType, PropertyDef};
use crate::value::{Map, Value};

/// The name of the generated template that represents the whole topology if it has no suitable root.
const PRIMARY_NAME: &str = "__primary";

/// The keys that the generated type copies from its base type.
const INHERITED_KEYS: [&str; 6] = [
    "badge",
    "icon",
    "details_url",
    "implementations",
    "implementation_requirements",
    "outputsSchema",
];

/// Attributes that every node has, which are not exported as variables.
const BUILT_IN_ATTRIBUTES: [&str; 3] = ["tosca_id", "state", "tosca_name"];

/// The exported node templates by name.
pub(super) type TemplateObjects = IndexMap<String, Object>;

/// The template that represents the whole topology.
#[derive(Debug)]
pub(super) struct PrimaryTemplate {
    pub(super) name: String,
    pub(super) type_name: String,
    /// The names of environment variables that contain the values of the deployment.
    pub(super) variables: Vec<String>,
}

/// Returns the root template of the topology if it covers all inputs, or else generates one.
pub(super) fn find_or_create_primary(
    catalog: &mut Catalog<'_>,
    templates: &mut TemplateObjects,
) -> Option<PrimaryTemplate> {
    let topology = catalog.topology;
    let substitution = topology.substitution.as_ref();
    let root = substitution.and_then(|it| topology.nodes.get(it.node.as_ref()?));
    let root_type = match (substitution.and_then(|it| it.node_type.as_ref()), root) {
        (Some(name), _) => catalog.service.types.node_type(name.as_str()),
        (None, Some(root)) => Some(root.node_type.clone()),
        (None, None) => None,
    };
    let Some(root_type) = root_type else {
        return create_primary(catalog, templates, None, None);
    };
    let maps_properties = substitution.is_some_and(|it| {
        let properties = it.mapping.get("properties");
        properties.is_some_and(Value::is_truthy)
    });
    let is_complete = maps_properties
        || topology
            .inputs
            .keys()
            .all(|name| root_type.properties.contains_key(name));
    if !is_complete {
        return create_primary(
            catalog,
            templates,
            root.map(|root| &**root),
            Some(&root_type),
        );
    }
    let type_name = catalog.add(root_type.key);
    let name = if let Some(root) = root {
        root.name.to_string()
    } else {
        let object = create_primary_object(catalog, &type_name, None);
        templates.insert(PRIMARY_NAME.to_owned(), object);
        PRIMARY_NAME.to_owned()
    };
    let own = root_type.properties.values().map(|def| &**def);
    let mut variables = variables_of(catalog, "APP", own);
    let attributes = root_type.attributes.values().map(|def| &**def);
    variables.extend(variables_of(catalog, "APP", attributes));
    variables.extend(variables_of_requirements(catalog, &type_name));
    Some(PrimaryTemplate {
        name,
        type_name,
        variables,
    })
}

/// Generates a type with the topology's inputs and outputs, and a template of that type.
fn create_primary(
    catalog: &mut Catalog<'_>,
    templates: &mut TemplateObjects,
    root: Option<&NodeTemplate>,
    root_type: Option<&NodeType>,
) -> Option<PrimaryTemplate> {
    let topology = catalog.topology;
    let types = &catalog.service.types;
    let base = match root_type {
        Some(root_type) => root_type.key,
        None => types.key_of_node_type("tosca.nodes.Root")?,
    };
    let base_name = catalog.add(base);
    let base_type = types.node_type_of(base)?;
    let mut defs: IndexMap<&str, &PropertyDef> = IndexMap::new();
    defs.extend(topology.inputs.iter().map(|(name, def)| (&**name, &**def)));
    for (name, def) in &base_type.properties {
        defs.entry(&**name).or_insert(&**def);
    }
    let own: Vec<Object> = topmost(catalog)
        .into_iter()
        .map(|node| constraint_of(catalog, node))
        .collect();
    let type_name = catalog.names.of_generated(PRIMARY_NAME);
    let mut object = create_primary_type(
        catalog,
        &type_name,
        &base_name,
        defs.values().copied(),
        &own,
    )?;
    if root_type.is_none() {
        object.put("implementations", json!([]));
    }
    catalog.types.insert(type_name.clone(), object);

    let mut variables = variables_of(catalog, "APP", defs.into_values());
    let outputs = topology.outputs.keys();
    variables.extend(outputs.map(|name| variable("APP", name)));
    let attributes = base_type.attributes.values().map(|def| &**def);
    variables.extend(variables_of(catalog, "APP", attributes));
    variables.extend(variables_of_requirements(catalog, &type_name));

    let mut template = create_primary_object(catalog, &type_name, root);
    let dependencies = own.into_iter().map(|constraint| {
        let name = constraint["name"].as_str().unwrap_or_default().to_owned();
        let matched = root.is_none().then_some(name.as_str());
        catalog.dependency(constraint, matched, &Map::default())
    });
    if let Some(Json::Array(all)) = template.get_mut("dependencies") {
        all.extend(dependencies);
    }
    templates.insert(PRIMARY_NAME.to_owned(), template);
    Some(PrimaryTemplate {
        name: PRIMARY_NAME.to_owned(),
        type_name,
        variables,
    })
}

/// Creates a type that extends another one with its own properties and requirements.
fn create_primary_type<'d>(
    catalog: &Catalog<'_>,
    type_name: &str,
    base_name: &str,
    defs: impl Iterator<Item = &'d PropertyDef>,
    requirements: &[Object],
) -> Option<Object> {
    let inherited = catalog.types.get(base_name)?;
    let mut object = empty_type(type_name, &PRIMARY_NAME.into(), "");
    object.put("visibility", "inherit");
    for key in INHERITED_KEYS {
        if let Some(value) = inherited.get(key) {
            object.insert(key.to_owned(), value.clone());
        }
    }
    let after = |first: Vec<Json>, key: &str| {
        let more = inherited.get(key).and_then(Json::as_array).cloned();
        first
            .into_iter()
            .chain(more.unwrap_or_default())
            .collect::<Json>()
    };
    let extends = after(vec![type_name.into()], "extends");
    object.put("extends", extends);
    let types = &catalog.service.types;
    let (visible, computed): (Vec<_>, Vec<_>) = defs.partition(|def| is_user_visible(def, None));
    let inputs = of_properties(types, visible, None);
    object.put("inputsSchema", inputs);
    let computed = of_properties(types, computed, None);
    object.put("computedPropertiesSchema", computed);
    let own = requirements.iter().cloned().map(Json::Object).collect();
    object.put("requirements", after(own, "requirements"));
    Some(object)
}

/// Creates a template whose properties come from the topology's inputs.
fn create_primary_object(
    catalog: &mut Catalog<'_>,
    type_name: &str,
    root: Option<&NodeTemplate>,
) -> Object {
    let mut object = if let Some(root) = root {
        catalog.node_template(root)
    } else {
        let empty = json!({
            "type": type_name, "name": PRIMARY_NAME, "title": PRIMARY_NAME, "description": "",
            "directives": [], "properties": [], "dependencies": [],
        });
        empty.as_object().cloned().unwrap_or_default()
    };
    object.put("type", type_name);
    object.put("name", PRIMARY_NAME);
    let taken = catalog.topology.inputs.iter().map(|(name, def)| {
        let settable = def
            .metadata
            .get("user_settable")
            .is_some_and(Value::is_truthy);
        let value = if settable {
            Json::Null
        } else {
            json!({ "get_input": &**name })
        };
        json!({ "name": &**name, "value": value })
    });
    let taken: Vec<Json> = taken.collect();
    if let Some(Json::Array(properties)) = object.get_mut("properties") {
        let inputs = &catalog.topology.inputs;
        properties.retain(|own| {
            own["name"]
                .as_str()
                .is_none_or(|it| !inputs.contains_key(it))
        });
        properties.extend(taken);
    }
    object
}

/// Returns the templates that no other template requires.
fn topmost<'a>(catalog: &Catalog<'a>) -> Vec<&'a NodeTemplate> {
    let nodes = &catalog.topology.nodes;
    let required: HashSet<&str> = nodes
        .values()
        .flat_map(|node| &node.requirements)
        .filter_map(|requirement| requirement.target.as_ref().map(TemplateName::as_str))
        .collect();
    let is_topmost = |node: &&NodeTemplate| {
        !required.contains(node.name.as_str())
            && !node.has_directive("default")
            && !matches!(node.name.as_str(), "dependency" | "installer")
    };
    nodes
        .values()
        .map(|node| &**node)
        .filter(is_topmost)
        .collect()
}

fn constraint_of(catalog: &Catalog<'_>, node: &NodeTemplate) -> Object {
    let mut object = empty_constraint(node.name.as_str(), None, &Map::default());
    object.put("min", 1);
    object.put("max", 1);
    object.put("match", Json::Null);
    let type_name = catalog.names.of(node.node_type.key);
    object.put("resourceType", type_name);
    object
}

fn variable(prefix: &str, name: &str) -> String {
    format!("{prefix}_{}", name.to_uppercase())
}

fn variables_of<'d>(
    catalog: &Catalog<'_>,
    prefix: &str,
    defs: impl Iterator<Item = &'d PropertyDef>,
) -> Vec<String> {
    let fits = |def: &&PropertyDef| {
        !BUILT_IN_ATTRIBUTES.contains(&&*def.name) && is_plain(&catalog.service.types, &def.schema)
    };
    defs.filter(fits)
        .map(|def| variable(prefix, &def.name))
        .collect()
}

/// Returns the variables for the properties and attributes of a type's requirement targets.
fn variables_of_requirements(catalog: &Catalog<'_>, type_name: &str) -> Vec<String> {
    let mut variables = Vec::new();
    let all = catalog
        .types
        .get(type_name)
        .and_then(|object| object.get("requirements"));
    for constraint in all.and_then(Json::as_array).into_iter().flatten() {
        let text = |key: &str| constraint[key].as_str().unwrap_or_default();
        let Some(target) = catalog.node_type(text("resourceType")) else {
            continue;
        };
        let prefix = text("name").to_uppercase();
        let declared = target.properties.values().chain(target.attributes.values());
        variables.extend(variables_of(catalog, &prefix, declared.map(|def| &**def)));
    }
    variables
}

/// Returns the blueprint's name and object.
pub(super) fn blueprint(catalog: &Catalog<'_>, primary: &PrimaryTemplate) -> (String, Object) {
    let metadata = &catalog.service.metadata;
    let metadata_value = |key: &str| metadata.get(key).filter(|value| value.is_truthy());
    let shown = |key: &str| metadata.get(key).map(values::json).unwrap_or_default();
    let name =
        metadata_value("template_name").map_or_else(|| primary.name.clone(), ToString::to_string);
    let slug = slug(&name);
    let title = metadata_value("title").map_or(name, ToString::to_string);
    let object = json!({
        "name": slug,
        "__typename": "ApplicationBlueprint",
        "title": title,
        "description": catalog.service.description.as_deref().unwrap_or(""),
        "livePreview": shown("livePreview"),
        "sourceCodeUrl": shown("sourceCodeUrl"),
        "image": shown("image"),
        "projectIcon": shown("projectIcon"),
        "primaryDeploymentBlueprint": shown("primaryDeploymentBlueprint"),
        "primary": primary.type_name,
        "deploymentTemplates": [],
    });
    (slug, object.as_object().cloned().unwrap_or_default())
}

/// Converts a text to a part of a URL: lower case letters, digits, `_` and single hyphens.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    let lower = text.trim().to_lowercase();
    for c in lower.chars() {
        let c = if c.is_whitespace() { '-' } else { c };
        let is_allowed = c.is_alphanumeric() || c == '_' || (c == '-' && !slug.ends_with('-'));
        if is_allowed {
            slug.push(c);
        }
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_parts_of_urls() {
        assert_eq!(slug(" My  App: the 2nd "), "my-app-the-2nd");
        assert_eq!(slug("__primary"), "__primary");
    }
}
