//! The environment variables that the properties of a relationship template stand for.
//!
//! A property stands for variables if its definition has the metadata `env_vars`, or if its type is
//! `unfurl.datatypes.EnvVar` or a map of such values.

use std::sync::Arc;

use indexmap::IndexMap;

use super::definition::{DataKind, PropertyDef, Schema};
use super::template::RelationshipTemplate;
use super::types::Types;
use crate::value::Value;

/// The data type of values that stand for the variable of the same name.
const VARIABLE_TYPE: &str = "unfurl.datatypes.EnvVar";

/// The maximum number of data types that are nested in each other.
const MAX_DEPTH: usize = 32;

/// A property, or a field of one, that stands for an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableProperty {
    /// The name of the property and the names of the fields within its value.
    pub path: Vec<Arc<str>>,
    /// The name of the variable. `None` if each entry of the value, a map, is a variable.
    pub variable: Option<Arc<str>>,
    /// Whether the definition of a field marks the value as secret.
    pub is_sensitive: bool,
}

impl RelationshipTemplate {
    /// Returns the properties that stand for environment variables, in their declared order.
    pub fn variable_properties(&self, types: &Types) -> Vec<VariableProperty> {
        let mut found = Vec::new();
        let definitions = &self.relationship_type.properties;
        add_variables(types, definitions, &[], false, &mut found);
        found
    }
}

fn add_variables(
    types: &Types,
    definitions: &IndexMap<Arc<str>, Arc<PropertyDef>>,
    outer: &[Arc<str>],
    is_sensitive: bool,
    found: &mut Vec<VariableProperty>,
) {
    for (name, definition) in definitions {
        let mut path = outer.to_vec();
        path.push(Arc::clone(name));
        let is_sensitive = is_sensitive || definition.is_sensitive();
        let fields = match definition.schema.kind {
            DataKind::Data(key) => types.data_type_of(key),
            _ => None,
        };
        if let Some(data) = fields.filter(|data| !data.properties.is_empty()) {
            if path.len() < MAX_DEPTH {
                add_variables(types, &data.properties, &path, is_sensitive, found);
            }
            continue;
        }
        for variable in variables_of(definition) {
            found.push(VariableProperty {
                path: path.clone(),
                variable,
                is_sensitive,
            });
        }
    }
}

/// Returns the variables that a definition names. `None` in the list stands for all entries of a map.
fn variables_of(definition: &PropertyDef) -> Vec<Option<Arc<str>>> {
    let is_variable = |schema: &Schema| schema.type_name.as_str() == VARIABLE_TYPE;
    let schema = &definition.schema;
    if schema.kind == DataKind::Map && schema.entry.as_deref().is_some_and(is_variable) {
        return vec![None];
    }
    let mut variables = Vec::new();
    if is_variable(schema) {
        variables.push(Some(Arc::clone(&definition.name)));
    }
    let listed = definition.metadata.get("env_vars").and_then(Value::as_list);
    let names = listed.into_iter().flatten().filter_map(Value::as_str);
    variables.extend(names.map(|name| Some(Arc::from(name))));
    variables
}

#[cfg(test)]
mod tests {
    use super::super::testing::read_template;

    #[test]
    fn types_maps_fields_and_metadata_name_the_variables() {
        let case = read_template(
            "
data_types:
  Login:
    properties:
      user: {type: string, metadata: {env_vars: [LOGIN_USER, USERNAME]}}
      password: {type: unfurl.datatypes.EnvVar, metadata: {sensitive: true}}
      inner: {type: Login, required: false}
relationship_types:
  Service:
    derived_from: tosca.relationships.ConnectsTo
    properties:
      URL: {type: unfurl.datatypes.EnvVar}
      more: {type: map, entry_schema: {type: unfurl.datatypes.EnvVar}}
      plain: {type: string}
      login: {type: Login}
topology_template:
  relationship_templates:
    service:
      type: Service
      properties: {URL: u, more: {}, plain: p, login: {user: u, password: p}}
",
        );
        assert_eq!(case.report(), "");
        let service = &case.service;
        let template = &service.topology.relationships["service"];
        let found = template.variable_properties(&service.types);
        let shown = |it: &super::VariableProperty| {
            let variable = it.variable.as_deref().unwrap_or("*");
            let secret = if it.is_sensitive { " (secret)" } else { "" };
            format!("{}: {variable}{secret}", it.path.join("/"))
        };
        let shown: Vec<String> = found.iter().take(5).map(shown).collect();
        let expected = [
            "URL: URL",
            "more: *",
            "login/user: LOGIN_USER",
            "login/user: USERNAME",
            "login/password: password (secret)",
        ];
        assert_eq!(shown, expected);
    }
}
