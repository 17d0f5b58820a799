//! Judges reads of properties, attributes, instances, requirements and artifacts.

use std::sync::Arc;

use super::checker::Checker;
use super::members::{
    Owner, capability_has, declared_names, hosts_of, is_keyword, is_part_only, is_substitutable,
    may_have, relationship_may_have, states,
};
use super::value_place::ValuePlace;
use crate::diagnostic::Check;
use crate::expr::MemberRead;
use crate::text::did_you_mean;
use crate::tosca::NodeTemplate;

impl<'a> Checker<'a> {
    pub(super) fn member(&mut self, read: &MemberRead, place: ValuePlace<'_>) {
        let may_be_set: &dyn Fn(&str) -> bool = &|name| self.settable().contains(name);
        let Some(nodes) = self.nodes_of(&read.entity, place) else {
            if let (Owner::Relationship { relationship, .. }, "SELF") = (place.owner, &*read.entity)
                && !relationship_may_have(relationship, &read.name, may_be_set)
            {
                let of = format!("relationship type `{}`", relationship.type_name);
                self.undeclared_member(read, &of, &[], place);
            } else if !is_keyword(&read.entity) && !read.entity.starts_with('.') {
                self.unknown_entity(read, place);
            }
            return;
        };
        let name = &read.name;
        let has = |node: &&NodeTemplate| {
            may_have(self.topology, node, name, may_be_set) || is_substitutable(node)
        };
        let is_unset = |node: &&NodeTemplate| {
            let is_open = read.function == "template" && node.node_type.open;
            is_open && !states(node, name, may_be_set)
        };
        let is_part = |node: &&NodeTemplate| {
            read.function == "template"
                && !self.settable().contains(name)
                && is_part_only(node, name)
        };
        if nodes
            .iter()
            .any(|node| has(node) && !is_part(node) && !is_unset(node))
        {
            return self.capability_member(read, &nodes, place);
        }
        let Some(node) = nodes.first() else {
            return;
        };
        if &*read.entity == "TARGET" && capability_has(node, name) {
            return;
        }
        if is_part(node) && has(node) {
            return self.part_as_attribute(name, node, place);
        }
        let of = format!("node template `{}` of type `{}`", node.name, node.type_name);
        // A topology that substitutes for the node has exactly the outputs that it declares.
        let lenient = self.lenient;
        self.lenient &=
            node.representative.is_none() && !self.substitutable.contains(&node.node_type.key);
        self.undeclared_member(read, &of, &declared_names(node), place);
        self.lenient = lenient;
    }

    /// Reports a template that reads a requirement or a capability as an attribute.
    fn part_as_attribute(&mut self, name: &str, node: &NodeTemplate, place: ValuePlace<'_>) {
        let message = format!(
            "{} reads `{name}`, which is a requirement or a capability and no attribute",
            (place.subject)()
        );
        let path = if node.capabilities.contains_key(name) {
            ".capabilities"
        } else {
            ".targets"
        };
        let hint = Some(format!("write `'{path}::{name}' | eval`"));
        self.error(Check::UnknownAttribute, message, place.span, name, hint);
    }

    /// Checks the property of a capability of a node.
    fn capability_member(
        &mut self,
        read: &MemberRead,
        nodes: &[&NodeTemplate],
        place: ValuePlace<'_>,
    ) {
        let ([node], [property, ..]) = (nodes, read.rest.as_slice()) else {
            return;
        };
        let Some(capability) = node.capabilities.get(&read.name) else {
            return;
        };
        let is_member =
            node.properties.contains_key(&read.name) || node.attributes.contains_key(&read.name);
        let own = &capability.capability_type;
        let has = own.open
            || own.properties.contains_key(property)
            || own.attributes.contains_key(property)
            || capability.properties.contains_key(property)
            || capability.attributes.contains_key(property)
            || property.starts_with('.')
            || self.settable().contains(property);
        if is_member || has {
            return;
        }
        let message = format!(
            "{} reads `{property}`, which capability `{}` of type `{}` does not declare",
            (place.subject)(),
            read.name,
            capability.type_name
        );
        let names = own.properties.keys().chain(own.attributes.keys());
        let hint = did_you_mean(property, names.map(|name| &**name));
        self.error(Check::UnknownAttribute, message, place.span, property, hint);
    }

    /// Returns the nodes that a name or keyword stands for. `None` if they are not known.
    fn nodes_of<'n>(&self, entity: &str, place: ValuePlace<'n>) -> Option<Vec<&'n NodeTemplate>>
    where
        'a: 'n,
    {
        match (entity, place.owner) {
            ("SELF", Owner::Node(node)) => Some(vec![node]),
            ("HOST", Owner::Node(node)) => hosts_of(self.topology, node),
            ("SOURCE", Owner::Relationship { source, .. }) => source.map(|node| vec![node]),
            ("TARGET", Owner::Relationship { target, .. }) => target.map(|node| vec![node]),
            (keyword, _) if is_keyword(keyword) || keyword.starts_with('.') => None,
            _ => self
                .node_seen(entity, place.within)
                .map(|node| vec![&**node]),
        }
    }

    fn undeclared_member(
        &mut self,
        read: &MemberRead,
        of: &str,
        names: &[&str],
        place: ValuePlace<'_>,
    ) {
        let name = &read.name;
        let message = format!(
            "{} reads `{name}`, which {of} does not declare",
            (place.subject)()
        );
        let hint = did_you_mean(name, names.iter().copied());
        self.error(Check::UnknownAttribute, message, place.span, name, hint);
    }

    fn unknown_entity(&mut self, read: &MemberRead, place: ValuePlace<'_>) {
        let entity = &read.entity;
        if self.is_other_entity(entity) || place.within.is_some() {
            return;
        }
        let message = format!(
            "{} reads `{}` of `{entity}`, which is not a node template",
            (place.subject)(),
            read.name
        );
        let hint = self.node_hint(entity);
        self.error(Check::UnknownTemplate, message, place.span, entity, hint);
    }

    pub(super) fn instance(&mut self, name: &Arc<str>, place: ValuePlace<'_>) {
        if self.node_seen(name, place.within).is_some()
            || self.is_other_entity(name)
            || place.within.is_some()
            || name.contains(':')
        {
            return;
        }
        let message = format!(
            "{} looks for the instance `{name}`, which does not exist",
            (place.subject)()
        );
        let hint = self.node_hint(name);
        self.warning(Check::EmptyPath, message, place.span, name, hint);
    }

    pub(super) fn artifact(&mut self, entity: &Arc<str>, name: &Arc<str>, place: ValuePlace<'_>) {
        let node = match (&**entity, place.owner) {
            ("SELF", Owner::Node(node)) => Some(node),
            (keyword, _) if is_keyword(keyword) => None,
            _ => match self.node_seen(entity, place.within) {
                Some(node) => Some(&**node),
                None => {
                    let read = MemberRead {
                        function: "get_artifact",
                        entity: Arc::clone(entity),
                        name: Arc::clone(name),
                        rest: Vec::new(),
                    };
                    return self.unknown_entity(&read, place);
                }
            },
        };
        // The default of a type may read an artifact that only some templates have.
        let node = node.filter(|_| !place.is_default);
        let Some(node) = node.filter(|node| !node.artifacts.contains_key(name)) else {
            return;
        };
        if node.is_selected() || is_substitutable(node) || self.settable().contains(name) {
            return;
        }
        let message = format!(
            "{} reads the artifact `{name}`, which node template `{}` does not have",
            (place.subject)(),
            node.name
        );
        let hint = did_you_mean(name, node.artifacts.keys().map(|name| &**name));
        self.error(Check::UnknownArtifact, message, place.span, name, hint);
    }

    /// Reports a path through a requirement that the own node does not have.
    pub(super) fn requirement_path(&mut self, name: &Arc<str>, place: ValuePlace<'_>) {
        let Owner::Node(node) = place.owner else {
            return;
        };
        let declared = &node.node_type.requirements;
        if declared.contains_key(name) || node.requirements.iter().any(|it| it.name == *name) {
            return;
        }
        let message = format!(
            "{} looks for the requirement `{name}`, which node template `{}` does not have",
            (place.subject)(),
            node.name
        );
        let names = declared
            .keys()
            .chain(node.requirements.iter().map(|it| &it.name));
        let hint = did_you_mean(name, names.map(|name| &**name));
        self.warning(Check::EmptyPath, message, place.span, name, hint);
    }
}
