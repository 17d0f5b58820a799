//! Portable node templates: self-contained copies that outlive their template in the model.
//!
//! An ensemble keeps them so that it can still remove the instances of a deleted template. A portable
//! template names the targets of its requirements and contains no secrets. [`ServiceTemplate::to_portable`]
//! is the entry.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::name::TemplateName;
use crate::value::{Map, REDACTED, Value};
use crate::yaml::{Mapping, Node, NodeKind};

use super::definition::{AttributeDecl, DataKind, Property, PropertyDef, Schema};
use super::operation::Operations;
use super::scope::TypeScope;
use super::template::{NodeTemplate, RelationshipTemplate, Requirement, ServiceTemplate};
use super::types::{ROOT, Types};

/// The functions that refer to a value without containing it.
const REFERENCE_FUNCTIONS: [&str; 6] = [
    "get_env",
    "get_input",
    "get_property",
    "get_attribute",
    "secret",
    "get_secret",
];

impl ServiceTemplate {
    /// Returns a node template of the outermost topology as written, with the template that it copies merged
    /// in.
    fn written_definition(&self, name: &TemplateName) -> Option<Cow<'_, Mapping>> {
        let own = || {
            let templates = self.own_topology.as_ref()?.get("node_templates")?;
            templates.get(name.as_str())
        };
        let node = self.overrides.get(name.as_str()).or_else(own)?;
        let map = node.as_map()?;
        if map.get("copy").is_none() {
            return Some(Cow::Borrowed(map));
        }
        let siblings = self
            .own_topology
            .as_ref()
            .and_then(|own| own.get("node_templates"));
        let siblings = siblings.and_then(Node::as_map);
        let scope = TypeScope::of(&self.types, ROOT);
        let subject = format!("node template `{name}`");
        let copied = siblings.and_then(|all| scope.resolve_copy(&subject, map, all));
        Some(copied.map_or(Cow::Borrowed(map), Cow::Owned))
    }

    /// Returns a node template of the outermost topology as written. None if another file has it.
    pub fn written_template(&self, name: &TemplateName) -> Option<Mapping> {
        self.written_definition(name).map(Cow::into_owned)
    }

    /// Returns a node template as written that was added to the topology. None for any other template.
    pub fn added_template(&self, name: &TemplateName) -> Option<Value> {
        let own = self.own_topology.as_ref();
        let own = own.and_then(|own| own.get("node_templates")?.get(name.as_str()));
        let added = self.overrides.get(name.as_str())?;
        own.is_none().then(|| added.to_value())
    }

    /// Returns a node template in a form that can be read without the rest of its topology.
    ///
    /// Requirements name their targets, relationships are inline, and secrets are left out. Returns `None`
    /// for templates of nested topologies, which come from the files of those, and for templates that are
    /// already orphaned or unknown.
    pub fn to_portable(&self, template: &NodeTemplate) -> Option<Value> {
        if template.nested_in.is_some() || template.is_orphaned {
            return None;
        }
        let stated = self.written_definition(&template.name)?;
        let mut portable = Map::new();
        for (key, entry) in &*stated {
            let node = &entry.value;
            let value = match &**key {
                "copy" | "requirements" => continue,
                "properties" => self.properties(node, &template.properties),
                "attributes" => attributes(node, &template.attributes),
                "capabilities" => map_values(node, |name, part| {
                    let known = template.capabilities.get(name);
                    let properties = known.map(|known| &known.properties);
                    self.with_properties(part, properties.map(|it| &**it))
                }),
                "artifacts" => map_values(node, |name, part| {
                    let known = template.artifacts.get(name);
                    let properties = known.map(|known| &known.properties);
                    self.with_properties(part, properties.map(|it| &**it))
                }),
                "interfaces" => interfaces(node, &secret_inputs(&template.operations), false),
                _ => without_secrets(node),
            };
            portable.insert(Arc::clone(key), value);
        }
        let requirements = template.requirements.iter();
        let requirements: Vec<Value> = requirements.filter_map(|it| self.requirement(it)).collect();
        if !requirements.is_empty() {
            portable.insert("requirements".into(), Value::from(requirements));
        }
        Some(Value::from(portable))
    }

    fn with_properties(&self, node: &Node, known: Option<&IndexMap<Arc<str>, Property>>) -> Value {
        map_values(node, |key, part| match (key, known) {
            ("properties", Some(known)) => self.properties(part, known),
            _ => without_secrets(part),
        })
    }

    fn properties(&self, node: &Node, known: &IndexMap<Arc<str>, Property>) -> Value {
        map_values(node, |name, value| {
            let def = known.get(name).and_then(|known| known.definition.as_ref());
            def.map_or_else(
                || without_secrets(value),
                |def| property(&self.types, def, value),
            )
        })
    }

    /// Returns a requirement with its target by name.
    ///
    /// Returns `None` for a requirement without a target that only the type declares: it follows from the
    /// type.
    fn requirement(&self, requirement: &Requirement) -> Option<Value> {
        let stated = requirement.stated.as_ref();
        let target = requirement.target.as_ref();
        if requirement.from_outer || (stated.is_none() && target.is_none()) {
            return None;
        }
        let mut fields = Map::new();
        if let Some(target) = target {
            fields.insert("node".into(), Value::Str(target.shared()));
        }
        let capability = stated.and_then(|stated| stated.capability.as_ref());
        if let Some(capability) = capability {
            fields.insert(
                "capability".into(),
                Value::Str(Arc::clone(&capability.name)),
            );
        }
        if let Some(relationship) = stated.and_then(|_| self.relationship(requirement)) {
            fields.insert("relationship".into(), relationship);
        }
        let target = match fields.get("node") {
            Some(only) if fields.len() == 1 => only.clone(),
            _ => Value::from(fields),
        };
        Some(Value::map([(Arc::clone(&requirement.name), target)]))
    }

    fn relationship(&self, requirement: &Requirement) -> Option<Value> {
        let stated = requirement.stated.as_ref()?;
        let template: &RelationshipTemplate = &requirement.relationship;
        let named = template.name.as_ref().and_then(|name| {
            let all = self.own_topology.as_ref()?.get("relationship_templates")?;
            all.get(name.as_str())
        });
        let Some(node) = named.or(stated.inline_relationship.as_ref()) else {
            let named = stated.relationship.as_ref()?;
            return Some(Value::Str(Arc::clone(&named.name)));
        };
        Some(map_values(node, |key, part| match key {
            "properties" => self.properties(part, &template.properties),
            "attributes" => attributes(part, &template.attributes),
            "interfaces" => interfaces(part, &secret_inputs(&template.operations), false),
            _ => without_secrets(part),
        }))
    }
}

/// Returns the names of the inputs that are secret in at least one operation.
fn secret_inputs(operations: &Operations) -> HashSet<Arc<str>> {
    let all = operations.iter();
    let defs = all.flat_map(|operation| operation.input_defs.values());
    let secret = defs.filter(|def| def.is_sensitive());
    secret.map(|def| Arc::clone(&def.name)).collect()
}

/// Returns a map with each value converted by `value`. A node that is no map is only stripped of secrets.
fn map_values(node: &Node, mut value: impl FnMut(&str, &Node) -> Value) -> Value {
    let Some(map) = node.as_map().filter(|_| !is_secret_tag(node)) else {
        return without_secrets(node);
    };
    let entries = map.iter();
    let entries = entries.map(|(key, entry)| (Arc::clone(key), value(key, &entry.value)));
    Value::from(entries.collect::<Map>())
}

fn attributes(node: &Node, known: &IndexMap<Arc<str>, AttributeDecl>) -> Value {
    map_values(node, |name, value| {
        let secret = known.get(name).is_some_and(|known| known.sensitive);
        redact_if_secret(value, secret)
    })
}

/// Returns interfaces with their operations. Secret inputs are redacted wherever they are set.
fn interfaces(node: &Node, secret: &HashSet<Arc<str>>, in_inputs: bool) -> Value {
    map_values(node, |key, part| {
        if in_inputs {
            return redact_if_secret(part, secret.contains(key));
        }
        interfaces(part, secret, key == "inputs")
    })
}

/// Returns the value of a property. Fields of data types can be secret on their own.
fn property(types: &Types, def: &PropertyDef, node: &Node) -> Value {
    if def.is_sensitive() {
        return redact_if_secret(node, true);
    }
    value_of_schema(types, &def.schema, node)
}

fn value_of_schema(types: &Types, schema: &Schema, node: &Node) -> Value {
    match (schema.kind, &schema.entry, node.kind()) {
        (DataKind::Data(key), _, NodeKind::Map(_)) if !is_expression(node) => {
            let Some(data) = types.data_type_of(key) else {
                return without_secrets(node);
            };
            map_values(node, |name, part| match data.properties.get(name) {
                Some(def) => property(types, def, part),
                None => without_secrets(part),
            })
        }
        (DataKind::Map, Some(entry), NodeKind::Map(_)) if !is_expression(node) => {
            map_values(node, |_, part| value_of_schema(types, entry, part))
        }
        (DataKind::List, Some(entry), NodeKind::Seq(items)) if !is_secret_tag(node) => {
            Value::list(items.iter().map(|item| value_of_schema(types, entry, item)))
        }
        _ => without_secrets(node),
    }
}

fn is_expression(node: &Node) -> bool {
    node.get("eval").is_some() || node.get("ref").is_some()
}

/// Returns a value. A secret is redacted, unless it is an expression that only refers to its source.
fn redact_if_secret(node: &Node, secret: bool) -> Value {
    if secret && !is_only_reference(node) {
        return redacted();
    }
    without_secrets(node)
}

fn redacted() -> Value {
    Value::from(REDACTED)
}

/// Whether a value only refers to its source, without containing it.
fn is_only_reference(node: &Node) -> bool {
    if is_secret_tag(node) {
        return false;
    }
    let Some(map) = node.as_map().filter(|map| map.len() == 1) else {
        return node.is_null();
    };
    let Some((key, entry)) = map.iter().next() else {
        return true;
    };
    match &**key {
        // A path is safe, but not with a filter: a filter contains values.
        "eval" | "ref" => match entry.value.as_str() {
            Some(path) => !path.contains(['[', '{']),
            None => entry.value.as_map().is_some() && is_only_reference(&entry.value),
        },
        // The second argument of `get_env` is a default value, which may be the secret.
        name if REFERENCE_FUNCTIONS.contains(&name) => match entry.value.as_seq() {
            Some(path) => name != "get_env" && path.iter().all(|part| part.as_str().is_some()),
            None => entry.value.as_str().is_some(),
        },
        "sensitive" => is_only_reference(&entry.value),
        _ => false,
    }
}

/// Whether a custom tag such as `!sensitive` or `!vault` marks the value as secret.
fn is_secret_tag(node: &Node) -> bool {
    node.tag().is_some_and(|tag| {
        let standard = tag.starts_with("!!") || tag.starts_with("tag:yaml.org");
        tag != "!" && !standard
    })
}

/// Returns a value without the parts that are marked as secret themselves.
fn without_secrets(node: &Node) -> Value {
    if is_secret_tag(node) {
        return redacted();
    }
    match node.kind() {
        NodeKind::Map(map) => {
            let called = map.get("eval").and_then(|call| call.get("sensitive"));
            let marked = called.or_else(|| map.get("sensitive"));
            let marked = marked.filter(|it| it.as_bool().is_none());
            if marked.is_some_and(|secret| !is_only_reference(secret)) {
                return redacted();
            }
            map_values(node, |_, part| without_secrets(part))
        }
        NodeKind::Seq(items) => Value::list(items.iter().map(without_secrets)),
        NodeKind::Str(text) if text.contains("{{") && text.contains("sensitive") => redacted(),
        _ => node.to_value(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::read_template;
    use crate::yaml;

    fn portable_text(text: &'static str, name: &str) -> String {
        let case = read_template(text);
        assert_eq!(case.report(), "");
        let template = case.node(name);
        yaml::emit(&case.service.to_portable(template).unwrap(), 0)
    }

    const SECRETS: &str = "
data_types:
  Login: {properties: {user: {type: string}, token: {type: string, metadata: {sensitive: true}}}}
node_types:
  Db:
    derived_from: tosca.nodes.Root
    properties:
      size: {type: integer, default: 1}
      password: {type: string, metadata: {sensitive: true}, default: x}
      login: {type: Login, required: false}
      logins: {type: list, entry_schema: {type: Login}, required: false}
topology_template:
  node_templates:
    literal:
      type: Db
      properties:
        size: 2
        password: hunter2
        login: {user: me, token: hunter3}
        logins: [{user: me, token: hunter4}]
      interfaces:
        Standard:
          delete:
            implementation: echo
            inputs: {x: {eval: {sensitive: hunter5}}, y: !sensitive hunter6}
    named:
      type: Db
      properties: {password: {get_env: PW}, login: {user: u, token: {eval: {secret: t}}}}
    default: {type: Db, properties: {password: {get_env: [PW, hunter7]}}}
";

    #[test]
    fn secrets_are_left_out_and_names_of_secrets_are_kept() {
        let literal = portable_text(SECRETS, "literal");
        assert!(!literal.contains("hunter"), "{literal}");
        insta::assert_snapshot!(literal, @"
        type: Db
        properties:
          size: 2
          password: <<REDACTED>>
          login:
            user: me
            token: <<REDACTED>>
          logins:
          - user: me
            token: <<REDACTED>>
        interfaces:
          Standard:
            delete:
              implementation: echo
              inputs:
                x: <<REDACTED>>
                'y': <<REDACTED>>
        ");
        insta::assert_snapshot!(portable_text(SECRETS, "named"), @"
        type: Db
        properties:
          password:
            get_env: PW
          login:
            user: u
            token:
              eval:
                secret: t
        ");
        assert!(!portable_text(SECRETS, "default").contains("hunter"));
    }

    #[test]
    fn a_template_stands_for_itself() {
        let text = "
topology_template:
  relationship_templates:
    link: {type: tosca.relationships.DependsOn, interfaces: {Configure: {remove_source: echo bye}}}
  node_templates:
    base: {type: tosca.nodes.Root, metadata: {a: 1}}
    other: {type: tosca.nodes.Compute}
    one:
      copy: base
      requirements:
      - dependency: {node: other, relationship: link}
      - plain: base
";
        insta::assert_snapshot!(portable_text(text, "one"), @"
        type: tosca.nodes.Root
        metadata:
          a: 1
        requirements:
        - dependency:
            node: other
            relationship:
              type: tosca.relationships.DependsOn
              interfaces:
                Configure:
                  remove_source: echo bye
        - plain: base
        ");
    }
}
