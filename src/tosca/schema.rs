//! Reads the definitions of properties, attributes and parameters, with their schemas.
//!
//! [`TypeScope::property_def`] is the entry. A definition in a derived type refines that of its base type.

use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::name::TypeName;
use crate::value::Map;
use crate::yaml::{KeyTable, MapEntry, Mapping, Node};

use super::constraint::read_constraints;
use super::definition::{Constraint, DataKind, PropertyDef, Schema, simple_kind};
use super::keys::PROPERTY;
use super::scope::{TypeScope, description, values_at};
use super::section::TypeSection;

/// The maximum depth of nested entry schemas.
const MAX_DEPTH: usize = 32;

impl TypeScope<'_> {
    /// Reads the definition of a property, merged over that of a base type.
    pub(super) fn property_def(
        self,
        subject: &str,
        name: &Arc<str>,
        entry: &MapEntry,
        base: Option<&Arc<PropertyDef>>,
    ) -> Option<PropertyDef> {
        let is_value = entry.value.as_map().is_none() && !entry.value.is_null();
        if let Some(base) = base.filter(|_| is_value) {
            return Some(self.redefine_default(subject, entry, base));
        }
        self.definition(&PROPERTY, subject, name, entry, base)
    }

    /// Reads a definition with the keys in the table, merged over that of a base type.
    pub(super) fn definition(
        self,
        keys: &KeyTable,
        subject: &str,
        name: &Arc<str>,
        entry: &MapEntry,
        base: Option<&Arc<PropertyDef>>,
    ) -> Option<PropertyDef> {
        let Some(map) = entry.value.as_map() else {
            let message = format!(
                "{subject} must be a map with a `type`, not {}",
                entry.value.kind_name()
            );
            self.problems()
                .error(Check::WrongKind, message, entry.key_span);
            return None;
        };
        self.problems().report_unknown_keys(keys, subject, map);
        let schema = self.schema(subject, map, base.map(|base| &base.schema), entry.key_span)?;
        let default = map.get("default");
        let mut metadata = base.map(|base| base.metadata.clone()).unwrap_or_default();
        metadata.extend(values_at(map, "metadata"));
        Self::record_sensitivity(map, default, &mut metadata);
        Some(PropertyDef {
            name: Arc::clone(name),
            schema: Arc::new(schema),
            required: self.required(subject, map, base),
            default: default
                .map(Node::to_value)
                .or_else(|| base.and_then(|base| base.default.clone())),
            title: map
                .get("title")
                .and_then(Node::as_str)
                .map(Arc::from)
                .or_else(|| base.and_then(|base| base.title.clone())),
            description: description(map)
                .or_else(|| base.and_then(|base| base.description.clone())),
            metadata,
            base: base.cloned(),
            span: entry.key_span,
            default_span: match (default, base) {
                (Some(node), _) => node.span(),
                (None, Some(base)) => base.default_span,
                (None, None) => Span::NONE,
            },
        })
    }

    /// Changes the default of an inherited definition.
    ///
    /// A template error that is common in practice: a plain value where a definition belongs. It produces a
    /// warning.
    fn redefine_default(
        self,
        subject: &str,
        entry: &MapEntry,
        base: &Arc<PropertyDef>,
    ) -> PropertyDef {
        let message = format!("{subject} is a value, not a definition; it is taken as the default");
        let problem = Diagnostic::warning(message)
            .check(Check::InvalidType)
            .label(entry.key_span, "");
        self.report(problem.help("write the value under `default:`"));
        PropertyDef {
            default: Some(entry.value.to_value()),
            default_span: entry.value.span(),
            span: entry.key_span,
            base: Some(Arc::clone(base)),
            ..PropertyDef::clone(base)
        }
    }

    /// Sets `sensitive` in the metadata if the default has the tag `!sensitive`, or the definition the key
    /// `sensitive`.
    fn record_sensitivity(map: &Mapping, default: Option<&Node>, metadata: &mut Map) {
        let tagged = default.is_some_and(Node::is_sensitive);
        let stated = map.get("sensitive").and_then(Node::as_bool) == Some(true);
        if tagged || stated {
            metadata.insert("sensitive".into(), true.into());
        }
    }

    fn required(self, subject: &str, map: &Mapping, base: Option<&Arc<PropertyDef>>) -> bool {
        match map.get("required") {
            None => base.is_none_or(|base| base.required),
            Some(node) => node
                .as_bool()
                .unwrap_or_else(|| self.yaml_1_1_bool(subject, node)),
        }
    }

    /// Reads a boolean in the YAML 1.1 form (`yes`, `off`), which older templates use.
    fn yaml_1_1_bool(self, subject: &str, node: &Node) -> bool {
        let text = node.as_str().unwrap_or_default().to_ascii_lowercase();
        let meant = match text.as_str() {
            "yes" | "on" | "true" => true,
            "no" | "off" | "false" => false,
            _ => {
                let message = format!("`required` of {subject} must be true or false");
                self.problems()
                    .error(Check::WrongKind, message, node.span());
                return true;
            }
        };
        let message = format!("`{text}` is a string in YAML; `required` of {subject} is {meant}");
        let problem = Diagnostic::warning(message)
            .check(Check::InvalidType)
            .label(node.span(), "");
        self.report(problem.help(format!("write `{meant}`")));
        meant
    }

    /// Reads a schema, merged over that of a base type.
    fn schema(
        self,
        subject: &str,
        map: &Mapping,
        base: Option<&Arc<Schema>>,
        span: Span,
    ) -> Option<Schema> {
        self.nested_schema(subject, map, base.map(|base| &**base), span, 0)
    }

    fn nested_schema(
        self,
        subject: &str,
        map: &Mapping,
        base: Option<&Schema>,
        span: Span,
        depth: usize,
    ) -> Option<Schema> {
        let (type_name, kind) = match (map.get("type"), base) {
            (Some(node), _) => match self.data_type_at(subject, node) {
                Some(found) => found,
                // The unknown type is already reported: accept any value, so that uses of the property cause
                // no errors.
                None => return Some(Self::any_schema()),
            },
            (None, Some(base)) => (base.type_name.clone(), base.kind),
            (None, None) => {
                self.report(
                    Diagnostic::error(format!("{subject} has no `type`"))
                        .check(Check::InvalidType)
                        .label(span, "")
                        .help("add the type of its values, for example `type: string`"),
                );
                return None;
            }
        };
        let inherited = base.filter(|base| base.kind == kind);
        let entry = self.inner_schema(subject, map.get("entry_schema"), depth);
        let key = self.inner_schema(subject, map.get("key_schema"), depth);
        Some(Schema {
            constraints: match map.get("constraints") {
                Some(node) => self.constraints(subject, node),
                None => inherited
                    .map(|base| base.constraints.clone())
                    .unwrap_or_default(),
            },
            entry: entry.or_else(|| inherited.and_then(|base| base.entry.clone())),
            key: key.or_else(|| inherited.and_then(|base| base.key.clone())),
            type_name,
            kind,
        })
    }

    fn constraints(self, subject: &str, node: &Node) -> Vec<Constraint> {
        read_constraints(node, subject, self.problems())
    }

    /// Reads `entry_schema` or `key_schema`: a map, or the name of a type.
    fn inner_schema(self, subject: &str, node: Option<&Node>, depth: usize) -> Option<Arc<Schema>> {
        let node = node?;
        if depth >= MAX_DEPTH {
            self.problems().error(
                Check::InvalidType,
                format!("the schema of {subject} nests too deeply"),
                node.span(),
            );
            return None;
        }
        if node.as_str().is_some() {
            let (type_name, kind) = self.data_type_at(subject, node)?;
            return Some(Arc::new(Schema {
                type_name,
                kind,
                constraints: Vec::new(),
                entry: None,
                key: None,
            }));
        }
        let map = self.map(node, || format!("the schema of the entries of {subject}"))?;
        self.nested_schema(subject, map, None, node.span(), depth + 1)
            .map(Arc::new)
    }

    fn data_type_at(self, subject: &str, node: &Node) -> Option<(TypeName, DataKind)> {
        let Some(name) = node.as_str() else {
            self.problems()
                .report(node.type_mismatch(format_args!("the type of {subject}"), "a name"));
            return None;
        };
        let kind = self.data_kind(name, node.span())?;
        Some((TypeName::from(name), kind))
    }

    /// Returns the kind of the type with the name. Reports an unknown type.
    pub(super) fn data_kind(self, name: &str, span: Span) -> Option<DataKind> {
        if let Some(kind) = simple_kind(name.strip_prefix("tosca:").unwrap_or(name)) {
            return Some(kind);
        }
        self.find_or_warn(name, TypeSection::Data, span)
            .map(DataKind::Data)
    }

    /// Returns a schema that accepts any value.
    pub(super) fn any_schema() -> Schema {
        Schema {
            type_name: "any".into(),
            kind: DataKind::Any,
            constraints: Vec::new(),
            entry: None,
            key: None,
        }
    }
}
