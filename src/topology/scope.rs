//! What expressions see of a topology.

use std::sync::Arc;

use super::entity::{Created, Entity, Kind};
use super::topology::Topology;
use crate::expr::{Attribute, Scope};
use crate::tosca::{AttributeDecl, Property};
use crate::value::{Handle, Map, Value};

impl Scope for Topology {
    fn attribute(&self, of: Handle, name: &str) -> Option<Attribute> {
        let entity = self.get(of)?;
        let (given, sensitive) = match &entity.kind {
            Kind::Root => return self.root_attribute(name),
            Kind::Inputs => (None, self.input_is_sensitive(name)),
            Kind::Outputs => (None, self.output_is_sensitive(name)),
            Kind::Node(node) => {
                declared(&node.template.properties, &node.template.attributes, name)
            }
            Kind::Capability { .. } => {
                let template = entity.capability()?;
                declared(&template.properties, &template.attributes, name)
            }
            Kind::Relationship { template, .. } => {
                declared(&template.properties, &template.attributes, name)
            }
        };
        let raw = entity.attributes.get(name).cloned().or(given)?;
        Some(Attribute {
            raw,
            sensitive,
            owner: self.context_of(of),
        })
    }

    fn attribute_names(&self, of: Handle) -> Vec<Arc<str>> {
        let Some(entity) = self.get(of) else {
            return Vec::new();
        };
        let mut names: Vec<Arc<str>> = match &entity.kind {
            Kind::Root => vec!["inputs".into(), "outputs".into()],
            Kind::Inputs | Kind::Outputs => Vec::new(),
            Kind::Node(node) => {
                let declared = node.template.attributes.iter();
                let defaults = declared
                    .filter(|(_, a)| a.default.is_some())
                    .map(|(name, _)| name);
                node.template
                    .properties
                    .keys()
                    .chain(defaults)
                    .cloned()
                    .collect()
            }
            Kind::Capability { .. } => entity.capability().map_or_else(Vec::new, |template| {
                template.properties.keys().cloned().collect()
            }),
            Kind::Relationship { template, .. } => template.properties.keys().cloned().collect(),
        };
        let known: std::collections::HashSet<_> = names.iter().cloned().collect();
        names.extend(
            entity
                .attributes
                .keys()
                .filter(|name| !known.contains(*name))
                .cloned(),
        );
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(Arc::clone(name)));
        names
    }

    fn special(&self, of: Handle, key: &str) -> Option<Value> {
        let entity = self.get(of)?;
        if matches!(entity.kind, Kind::Inputs | Kind::Outputs) && !matches!(key, "." | "..") {
            return None;
        }
        self.special_value(of, entity, key)
    }

    fn find(&self, _from: Handle, name: &str) -> Option<Handle> {
        if name == "root" {
            Some(self.root())
        } else {
            self.find(name)
        }
    }

    fn instances(&self, _from: Handle) -> Vec<Handle> {
        self.nodes()
    }

    fn root(&self, _of: Handle) -> Handle {
        self.root()
    }

    fn key(&self, of: Handle) -> Arc<str> {
        self.get(of)
            .map_or_else(|| "".into(), |entity| entity.key.shared())
    }

    fn is_type(&self, of: Handle, type_name: &str) -> bool {
        self.get(of).is_some_and(|entity| entity.is_a(type_name))
    }

    fn inherited(&self, of: Handle, name: &str, level: u32) -> Option<Attribute> {
        let Kind::Node(node) = &self.get(of)?.kind else {
            return None;
        };
        let property = node.template.properties.get(name)?;
        let mut definition = property.definition.as_ref()?;
        // What the template does not set is the default of its own type already.
        let steps = level.saturating_sub(1) + u32::from(!property.set_on_template);
        for _ in 0..steps {
            definition = definition.base.as_ref()?;
        }
        let raw = definition.default.clone()?;
        let sensitive = definition.is_sensitive();
        Some(Attribute {
            raw,
            sensitive,
            owner: of,
        })
    }

    fn generation(&self) -> u64 {
        self.generation()
    }

    fn version(&self, of: Handle, name: &str) -> u64 {
        self.version(of, name)
    }
}

impl Topology {
    /// The entity in whose context the values of another are evaluated.
    fn context_of(&self, of: Handle) -> Handle {
        match self.entity(of).kind {
            Kind::Inputs | Kind::Outputs => self.root(),
            _ => of,
        }
    }

    fn root_attribute(&self, name: &str) -> Option<Attribute> {
        let held = match name {
            "inputs" => self.inputs(),
            "outputs" => self.outputs(),
            _ => return None,
        };
        let raw = Value::Entity(held);
        Some(Attribute {
            raw,
            sensitive: false,
            owner: self.root(),
        })
    }

    fn input_is_sensitive(&self, name: &str) -> bool {
        self.template()
            .inputs
            .get(name)
            .is_some_and(|input| input.is_sensitive())
    }

    fn output_is_sensitive(&self, name: &str) -> bool {
        self.template()
            .outputs
            .get(name)
            .is_some_and(|output| output.sensitive)
    }

    fn special_value(&self, of: Handle, entity: &Entity, key: &str) -> Option<Value> {
        Some(match key {
            "." | ".owner" => owner(of, entity),
            ".." | ".parent" => entity.parent.map_or(Value::Null, Value::Entity),
            ".name" => Value::str(entity.name.as_str()),
            ".type" => Value::str(entity.type_name()),
            ".key" | ".tosca_id" => Value::Str(entity.key.shared()),
            ".tosca_name" | ".template" => Value::str(entity.template_name()),
            ".status" => Value::Int(i64::from(self.effective(of).number())),
            ".state" => entity
                .state
                .map_or(Value::Null, |state| i64::from(state.number()).into()),
            ".created" => entity
                .created
                .as_ref()
                .map_or(Value::Null, Created::to_value),
            ".protected" => Value::from(entity.protected),
            ".customized" => Value::from(entity.customized.clone()),
            ".operational" => Value::Bool(self.is_operational(of)),
            ".ancestors" => entities(self.ancestors(of)),
            ".parents" => {
                let mut parents = self.ancestors(of);
                parents.reverse();
                parents.pop();
                entities(parents)
            }
            ".root" | ".apex" => Value::Entity(self.root()),
            ".all" => self.all(),
            ".instances" => entities(self.children(of).to_vec()),
            ".descendants" | ".descendents" => entities(self.descendants(of)),
            ".source" => self.source_of(of).map_or(Value::Null, Value::Entity),
            ".target" => self.target_of(of).map_or(Value::Null, Value::Entity),
            ".capabilities" => entities(entity.node()?.capabilities.clone()),
            ".requirements" => entities(entity.node().map_or(vec![], |n| n.requirements.clone())),
            ".relationships" => entities(self.relationships_of(of)),
            ".targets" => self.named_ends(&entity.node()?.requirements, Self::target_of),
            ".sources" => self.named_ends(&self.incoming(of), Self::source_of),
            ".hosted_on" => entities(self.hosted_on(of)),
            ".configured_by" => entities(self.configured_by(of)),
            ".uri" => Value::str(format!("#{}", entity.key)),
            ".deployment" => Value::str(""),
            ".names" => self.names_of(entity),
            ".artifacts" | ".topology" => Value::map::<&str>([]),
            _ => return None,
        })
    }

    /// The entity itself and what it stands on, up to the root.
    pub fn ancestors(&self, of: Handle) -> Vec<Handle> {
        std::iter::successors(Some(of), |handle| self.entity(*handle).parent).collect()
    }

    fn descendants(&self, of: Handle) -> Vec<Handle> {
        let mut order = Vec::new();
        let mut stack = vec![of];
        while let Some(handle) = stack.pop() {
            order.push(handle);
            stack.extend(self.children(handle).iter().rev());
        }
        order
    }

    fn all(&self) -> Value {
        let everything = self.descendants(self.root()).into_iter();
        Value::map(everything.map(|node| (self.entity(node).name.shared(), Value::Entity(node))))
    }

    fn relationships_of(&self, of: Handle) -> Vec<Handle> {
        let Kind::Capability { owner, .. } = &self.entity(of).kind else {
            return self.incoming(of);
        };
        let named = |relationship: &Handle| match &self.entity(*relationship).kind {
            Kind::Relationship { capability, .. } => {
                capability.as_deref() == Some(self.entity(of).name.as_str())
            }
            _ => false,
        };
        self.incoming(*owner).into_iter().filter(named).collect()
    }

    /// A map from the relationships' names to what stands at their other end.
    fn named_ends(&self, of: &[Handle], end: fn(&Self, Handle) -> Option<Handle>) -> Value {
        let mut ends = Map::new();
        for relationship in of {
            let Some(other) = end(self, *relationship) else {
                continue;
            };
            let name = self.entity(*relationship).name.shared();
            let value = match ends.shift_remove(&name) {
                None => Value::Entity(other),
                Some(Value::List(list)) => {
                    Value::list(list.iter().cloned().chain([Value::Entity(other)]))
                }
                Some(one) => Value::list([one, Value::Entity(other)]),
            };
            ends.insert(name, value);
        }
        Value::from(ends)
    }

    /// The capabilities that an instance uses, by requirement, and its own, by name.
    fn names_of(&self, entity: &Entity) -> Value {
        let Some(node) = entity.node() else {
            return Value::map::<&str>([]);
        };
        let used = node.requirements.iter().filter_map(|relationship| {
            let Kind::Relationship { capability, .. } = &self.entity(*relationship).kind else {
                return None;
            };
            let target = self.entity(self.target_of(*relationship)?).node()?;
            let wanted = capability.as_deref().unwrap_or("feature");
            let mut capabilities = target.capabilities.iter();
            let found = capabilities.find(|c| self.entity(**c).name.as_str() == wanted)?;
            Some((
                self.entity(*relationship).name.shared(),
                Value::Entity(*found),
            ))
        });
        let own = node.capabilities.iter();
        let own = own.map(|c| (self.entity(*c).name.shared(), Value::Entity(*c)));
        let mut names: Map = own.collect();
        names.extend(used);
        Value::from(names)
    }

    fn hosted_on(&self, of: Handle) -> Vec<Handle> {
        let requirements = |node: Handle| {
            self.entity(node)
                .node()
                .map_or(Vec::new(), |node| node.requirements.clone())
        };
        self.walk(
            of,
            requirements,
            Self::target_of,
            "tosca.relationships.HostedOn",
        )
    }

    fn configured_by(&self, of: Handle) -> Vec<Handle> {
        let incoming = |node: Handle| self.incoming(node);
        self.walk(
            of,
            incoming,
            Self::source_of,
            "unfurl.relationships.Configures",
        )
    }

    /// Follows relationships transitively; gives the ends of those that are of a type.
    fn walk(
        &self,
        from: Handle,
        edges: impl Fn(Handle) -> Vec<Handle>,
        end: fn(&Self, Handle) -> Option<Handle>,
        wanted: &str,
    ) -> Vec<Handle> {
        let mut seen = std::collections::HashSet::new();
        let (mut found, mut stack) = (Vec::new(), vec![from]);
        while let Some(node) = stack.pop() {
            let mut next = Vec::new();
            for relationship in edges(node) {
                let Some(other) = end(self, relationship) else {
                    continue;
                };
                if !seen.insert(other) {
                    continue;
                }
                let hosted = wanted.ends_with("HostedOn")
                    && self.entity(relationship).name.as_str() == "host";
                if hosted || self.is_type(relationship, wanted) {
                    found.push(other);
                }
                next.push(other);
            }
            stack.extend(next.into_iter().rev());
        }
        found
    }
}

fn entities(handles: Vec<Handle>) -> Value {
    Value::list(handles.into_iter().map(Value::Entity))
}

/// What is declared of an attribute or property: its value, and whether it is sensitive.
fn declared(
    properties: &indexmap::IndexMap<Arc<str>, Property>,
    attributes: &indexmap::IndexMap<Arc<str>, AttributeDecl>,
    name: &str,
) -> (Option<Value>, bool) {
    let property = properties.get(name);
    let attribute = attributes.get(name);
    let definition = property.and_then(|property| property.definition.as_ref());
    let sensitive = definition.is_some_and(|definition| definition.is_sensitive())
        || attribute.is_some_and(|attribute| attribute.sensitive);
    let value = property.map(|property| property.value.clone());
    (
        value.or_else(|| attribute.and_then(|attribute| attribute.default.clone())),
        sensitive,
    )
}

fn owner(of: Handle, entity: &Entity) -> Value {
    match &entity.kind {
        Kind::Capability { owner, .. } => Value::Entity(*owner),
        _ => Value::Entity(of),
    }
}
