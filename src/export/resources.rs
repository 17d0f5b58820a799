//! Exports the recorded state of a deployment (`Deployment`, `Resource`).

use std::collections::HashMap;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use super::blueprint::TemplateObjects;
use super::types::Catalog;
use super::values::{self, Object, ObjectExt as _};
use crate::name::Status;
use crate::topology::{Entity, Topology};
use crate::tosca::NodeTemplate;
use crate::value::{Handle, Value};
use crate::yaml::Node;

/// Types whose instances always count as independent resources.
const REAL_TYPES: [&str; 2] = ["unfurl.nodes.CloudObject", "unfurl.nodes.K8sRawResource"];

/// Returns the resources of a topology by name. Recorded templates that were hidden so far are added to
/// `templates`.
pub(super) fn resources(
    catalog: &mut Catalog<'_>,
    topology: &Topology,
    templates: &mut TemplateObjects,
) -> IndexMap<String, Object> {
    let requirement_visibilities = visibilities(templates);
    let mut resources = IndexMap::new();
    for handle in topology.nodes() {
        let entity = topology.entity(handle);
        let Some(node) = entity.node() else { continue };
        let template = &node.template;
        let status = topology.effective(handle);
        let is_pending = matches!(status, Status::Unknown | Status::Pending);
        if !templates.contains_key(template.name.as_str()) {
            if is_pending || template.has_directive("virtual") {
                continue;
            }
            let object = catalog.node_template(template);
            if values::is_omitted(&object) {
                continue;
            }
            templates.insert(template.name.to_string(), object);
        }
        let Some(object) = templates.get(template.name.as_str()) else {
            continue;
        };
        let requirement_visibilities = requirement_visibilities.get(template.name.as_str());
        if let Some(found) = resource(topology, handle, object, requirement_visibilities) {
            resources.insert(entity.name.to_string(), found);
        }
    }
    resources
}

/// Returns the visibilities of the requirements that target a template, by its name.
fn visibilities(templates: &TemplateObjects) -> HashMap<String, Vec<String>> {
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    let lists = templates
        .values()
        .filter_map(|object| object.get("dependencies")?.as_array());
    for dependency in lists.flatten() {
        if let Some(name) = dependency["match"].as_str() {
            let visibility = dependency["constraint"]["visibility"].as_str();
            let visibility = visibility.unwrap_or("inherit").to_owned();
            found.entry(name.to_owned()).or_default().push(visibility);
        }
    }
    found
}

fn resource(
    topology: &Topology,
    handle: Handle,
    template: &Object,
    requirement_visibilities: Option<&Vec<String>>,
) -> Option<Object> {
    let entity = topology.entity(handle);
    let node = entity.node()?;
    let mut status = topology.effective(handle);
    let is_pending = matches!(status, Status::Unknown | Status::Pending);
    let own_visibility = template.get("visibility").and_then(Json::as_str);
    let mut visibility = own_visibility.filter(|own_visibility| *own_visibility != "inherit");
    if visibility.is_none() {
        match requirement_visibilities {
            Some(all) => {
                let hidden = all.iter().all(|one| one == "hidden");
                visibility = (hidden && !is_real(entity, &node.template)).then_some("hidden");
            }
            None if is_pending && entity.computed => status = Status::Ok,
            None if is_pending => return None,
            None => {}
        }
    }
    let mut object = Object::new();
    object.put("name", entity.name.as_str());
    object.put("title", template["title"].clone());
    object.put("template", node.template.name.as_str());
    object.put(
        "state",
        json!(entity.state.map(crate::name::NodeState::number)),
    );
    object.put("status", status.number());
    object.put("__typename", "Resource");
    object.put("imported", json!(node.imported.as_deref()));
    object.put_some("visibility", visibility);
    object.put("protected", json!(entity.protected));
    object.put("attributes", attributes(entity, &node.template));
    let computed = computed_properties(entity, &node.template);
    object.put("computedProperties", computed);
    object.put("connections", connections(template));
    Some(object)
}

/// Whether an instance is an independent resource, and not only a part of another one.
fn is_real(entity: &Entity, template: &NodeTemplate) -> bool {
    let names = ["id", "console_url", "url"];
    REAL_TYPES.iter().any(|name| template.is_a(name))
        || names.iter().any(|name| {
            let declared = template.attributes.get(*name);
            entity.attributes.contains_key(*name)
                || template.properties.contains_key(*name)
                || declared.is_some_and(|attribute| attribute.default.is_some())
        })
}

/// Returns the attributes set by tasks, then the defaults of the others.
fn attributes(entity: &Entity, template: &NodeTemplate) -> Vec<Json> {
    let mut shown = Vec::new();
    for (name, value) in &entity.attributes {
        let attribute = template
            .attributes
            .get(name)
            .and_then(|it| it.definition.as_deref());
        let property = || template.node_type.properties.get(name).map(|def| &**def);
        let def = attribute.or_else(property);
        if !def.is_some_and(|def| def.flag("internal")) {
            shown.push(json!({ "name": &**name, "value": values::of_property(def, value) }));
        }
    }
    for (name, def) in &template.node_type.attributes {
        let Some(default) = &def.default else {
            continue;
        };
        if !entity.attributes.contains_key(name) && !values::is_computed(def, None) {
            let value = values::of_property(Some(def), default);
            shown.push(json!({ "name": &**name, "value": value }));
        }
    }
    shown
}

/// Returns the last observed values of properties.
fn computed_properties(entity: &Entity, template: &NodeTemplate) -> Vec<Json> {
    let mut shown = Vec::new();
    for (name, value) in &entity.properties {
        if entity.attributes.contains_key(name) {
            continue;
        }
        let property = template.properties.get(name);
        let def = property.and_then(|property| property.definition.as_deref());
        let visibility = def.and_then(|def| def.metadata.get("visibility"));
        if visibility.is_some_and(|it| it.as_str() == Some("hidden")) {
            continue;
        }
        let own = property.map(|property| &property.value);
        let value = match own.filter(|own| value.has_sensitive() && values::is_front_end(own)) {
            Some(own) => values::json(own),
            None => values::of_property(def, value),
        };
        shown.push(json!({ "name": &**name, "value": value }));
    }
    for (name, property) in &*template.properties {
        let exported = property
            .definition
            .as_deref()
            .filter(|def| def.flag("export"));
        let unknown = !entity.properties.contains_key(name);
        if let Some(def) = exported
            && unknown
            && !values::is_server_only(&property.value)
            && def.default.is_some()
        {
            let value = values::of_property(Some(def), &property.value);
            shown.push(json!({ "name": &**name, "value": value }));
        }
    }
    shown
}

/// Returns the requirements of a template with their targets.
fn connections(template: &Object) -> Vec<Json> {
    let all = template.get("dependencies").and_then(Json::as_array);
    let mut named: IndexMap<String, Json> = IndexMap::new();
    for dependency in all.into_iter().flatten() {
        let mut connection = dependency.clone();
        if dependency["match"]
            .as_str()
            .is_some_and(|name| !name.is_empty())
        {
            connection["target"] = dependency["match"].clone();
        }
        let name = dependency["name"].as_str().unwrap_or_default();
        named.insert(name.to_owned(), connection);
    }
    named.into_values().collect()
}

/// Adds the status, summary and time of the last job.
pub(super) fn add_last_job(deployment: &mut Object, job: &Node) {
    let text = |key: &str| {
        job.get(key)
            .and_then(Node::as_str)
            .filter(|it| !it.is_empty())
    };
    let workflow = text("workflow");
    deployment.put_some("workflow", workflow);
    let state = job.get("readyState");
    let word = state.and_then(|it| it.get("effective").or_else(|| it.get("local")));
    if let Some(mut status) = word.and_then(Node::as_str).and_then(Status::parse) {
        if workflow == Some("undeploy") && status == Status::Ok {
            status = Status::Absent;
        }
        deployment.put("status", status.number());
    }
    let summary = job.get("summary").map(Node::to_value);
    let summary = summary.map_or_else(|| json!(""), |summary| values::json(&summary));
    deployment.put("summary", summary);
    if let Some(time) = text("endTime")
        .or_else(|| text("startTime"))
        .and_then(moment)
    {
        deployment.put("deployTime", time);
    }
}

/// Converts a record's time to ISO format: `2026-01-31-12-30-00-000000` becomes `2026-01-31 12:30:00+00:00`.
fn moment(time: &str) -> Option<String> {
    let parts: Vec<&str> = time.split('-').collect();
    match parts.as_slice() {
        [year, month, day, hour, minute, second, ..] => Some(format!(
            "{year}-{month}-{day} {hour}:{minute}:{second}+00:00"
        )),
        _ => None,
    }
}

/// Returns the URL of the deployment: the recorded output `url`, or that attribute of the primary resource.
pub(super) fn url(status: &Value, catalog: &Catalog<'_>, primary: Option<&Object>) -> Option<Json> {
    let output = catalog.topology.outputs.get("url");
    if output.is_none_or(|output| !output.sensitive) {
        let recorded = status
            .get("outputs")
            .and_then(|outputs| outputs.get("url"))
            .cloned();
        let literal = || {
            let value = &output?.value;
            (!values::is_function(value)).then(|| value.clone())
        };
        let found = recorded.or_else(literal).filter(Value::is_truthy);
        if let Some(url) = found {
            return Some(values::json(&url));
        }
    }
    let attributes = primary?.get("attributes")?.as_array()?;
    let found = attributes
        .iter()
        .find(|attribute| attribute["name"] == "url")?;
    Some(found["value"].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_record_becomes_one_that_scripts_read() {
        let time = moment("2026-11-21-13-00-55-317297");
        assert_eq!(time.as_deref(), Some("2026-11-21 13:00:55+00:00"));
        assert_eq!(moment("today"), None);
    }
}
