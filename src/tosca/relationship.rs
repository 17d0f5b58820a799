//! Reads relationship templates, both named and inline.
//!
//! Requirements that set nothing on their relationship share one template per relationship type, from
//! [`PlainRelationships`].

use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::name::{TemplateName, TypeName};
use crate::value::FoldMap;
use crate::yaml::{Mapping, Node};

use super::definition::TypeKey;
use super::entity_types::RelationshipType;
use super::implementation::ArtifactScope;
use super::interface_draft::InterfaceDrafts;
use super::interface_merge::DefinitionSource;
use super::keys::RELATIONSHIP_TEMPLATE;
use super::property::DeclaredProperties;
use super::resolve::metadata_of;
use super::scope::{TypeScope, description};
use super::section::TypeSection;
use super::template::RelationshipTemplate;
use super::types::Types;

/// A cache of relationship templates that set nothing, one per relationship type.
#[derive(Debug, Default)]
pub(super) struct PlainRelationships(FoldMap<TypeKey, Arc<RelationshipTemplate>>);

impl PlainRelationships {
    /// Returns the template for a type. Creates it on the first call.
    pub(super) fn of_type(
        &mut self,
        types: &Types,
        key: TypeKey,
    ) -> Option<Arc<RelationshipTemplate>> {
        if let Some(found) = self.0.get(&key) {
            return Some(Arc::clone(found));
        }
        let relationship_type = types.relationship_type_of(key)?;
        let template = Arc::new(plain_relationship(relationship_type));
        self.0.insert(key, Arc::clone(&template));
        Some(template)
    }
}

fn plain_relationship(relationship_type: Arc<RelationshipType>) -> RelationshipTemplate {
    RelationshipTemplate {
        name: None,
        type_name: relationship_type.name.clone(),
        properties: Arc::clone(&relationship_type.default_properties),
        attributes: Arc::clone(&relationship_type.default_attributes),
        operations: Arc::clone(&relationship_type.operations),
        metadata: crate::value::Map::default(),
        description: None,
        default_for: None,
        span: Span::NONE,
        relationship_type,
    }
}

impl TypeScope<'_> {
    /// Reads a relationship template. `usual` is the type to use if the template states none.
    pub(super) fn relationship_template(
        self,
        subject: &str,
        name: Option<TemplateName>,
        node: &Node,
        default_type: Option<TypeKey>,
    ) -> Option<RelationshipTemplate> {
        let map = self.map(node, || subject.to_owned())?;
        let span = node.span();
        self.problems()
            .report_unknown_keys(&RELATIONSHIP_TEMPLATE, subject, map);
        let key = match default_type.filter(|_| map.get("type").is_none()) {
            Some(key) => key,
            None => self.template_type(subject, map, TypeSection::Relationship, span)?,
        };
        let relationship_type = self.types.relationship_type_of(key)?;
        let declared = DeclaredProperties {
            type_name: relationship_type.name.as_str(),
            defs: &relationship_type.properties,
            defaults: &relationship_type.default_properties,
            open: relationship_type.open,
            check_required: true,
        };
        let assigned = self.map_at(map, "properties", || subject.to_owned());
        let mut template = plain_relationship(Arc::clone(&relationship_type));
        if let Some(stated) = map.get("type").and_then(Node::as_str) {
            template.type_name = stated_name(stated, key, self.types);
        }
        template.properties = self.properties(subject, declared, assigned, span);
        template.attributes = self.attributes(
            subject,
            &relationship_type.attributes,
            &relationship_type.default_attributes,
            map.get("attributes"),
        );
        if let Some(node) = map.get("interfaces") {
            let mut interfaces = InterfaceDrafts::clone(&relationship_type.interfaces);
            interfaces.merge(self, subject, node, DefinitionSource::Template);
            let base = Some((
                &*relationship_type.interfaces,
                &*relationship_type.operations,
            ));
            let finished = interfaces.finish(self.types, subject, &ArtifactScope::NONE, base);
            template.operations = Arc::new(finished);
        }
        template.name = name;
        template.metadata = metadata_of(map);
        template.description = description(map);
        template.default_for = self.text_at(map, "default_for", || subject.to_owned());
        template.span = span;
        Some(template)
    }

    /// Returns the type under the key `type` of a template. Reports an error if it is missing or unknown.
    pub(super) fn template_type(
        self,
        subject: &str,
        map: &Mapping,
        section: TypeSection,
        span: Span,
    ) -> Option<TypeKey> {
        let Some(node) = map.get("type").filter(|node| !node.is_null()) else {
            let help = format!(
                "give it a `type`: the name of {}",
                section.noun_with_article()
            );
            let problem = Diagnostic::error(format!("{subject} has no `type`"))
                .check(Check::UnknownType)
                .label(span, "");
            self.report(problem.help(help));
            return None;
        };
        let Some(name) = node.as_str() else {
            let message = format!("the type of {subject} must be a name");
            self.problems()
                .error(Check::WrongKind, message, node.span());
            return None;
        };
        self.require(name, section, node.span())
    }
}

/// Returns the type name that a template states. The short name of a built-in type becomes its full name.
pub(super) fn stated_name(stated: &str, key: TypeKey, types: &Types) -> TypeName {
    if types.decl(key).namespace == super::types::BUILT_IN {
        types.name(key)
    } else {
        TypeName::from(stated)
    }
}
