//! Merges the properties and attributes that a template sets with those that its type declares.
//!
//! The methods of [`TypeScope`] here check the values and fill in defaults. A template that sets nothing
//! shares the defaults of its type.

use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::text::did_you_mean;
use crate::yaml::{MapEntry, Mapping, Node};

use super::check::{Subject, check};
use super::definition::{AttributeDecl, Attributes, Defs, Properties, Property};
use super::entity_types::NodeType;
use super::scope::TypeScope;

/// The endpoint type of `tosca.nodes.Compute`, which the standard declares without a login.
const ADMIN_ENDPOINT: &str = "tosca.capabilities.Endpoint.Admin";

/// Returns true if a property says where and as whom to log in, although the standard type does not declare it.
fn is_login(type_name: &str, property: &str) -> bool {
    type_name == ADMIN_ENDPOINT && ["host", "user"].contains(&property)
}

/// The property declarations of a type, as its templates see them.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeclaredProperties<'a> {
    /// The name of the type, for messages.
    pub(super) type_name: &'a str,
    pub(super) defs: &'a Defs,
    /// The properties of a template that sets none.
    pub(super) defaults: &'a Arc<Properties>,
    /// Whether templates may set properties that the type does not declare.
    pub(super) open: bool,
    /// Whether required properties must be set. False for templates that others provide or substitute.
    pub(super) check_required: bool,
}

impl<'a> DeclaredProperties<'a> {
    /// The declarations of a node type, under the name that the template has for it.
    pub(super) fn of(type_name: &'a str, node_type: &'a NodeType) -> Self {
        Self {
            type_name,
            defs: &node_type.properties,
            defaults: &node_type.default_properties,
            open: node_type.open,
            check_required: true,
        }
    }
}

impl TypeScope<'_> {
    /// Returns the properties of a template that sets none: the checked defaults.
    pub(super) fn default_properties(self, owner: &str, defs: &Defs) -> Arc<Properties> {
        let mut properties = Properties::default();
        for (name, def) in defs {
            let Some(default) = &def.default else {
                continue;
            };
            let subject = format_args!("property `{name}` of {owner}");
            let (value, problems) =
                check(self.types, def, default, subject, (None, def.default_span));
            for problem in problems {
                // An inherited default of a built-in type is in no file: label the definition of the property
                // instead.
                let has_place = problem.span().is_some();
                let own = if has_place { Span::NONE } else { def.span };
                self.report(problem.label(own, "its default is inherited"));
            }
            let property = Property {
                value,
                definition: Some(Arc::clone(def)),
                set_on_template: false,
                span: def.default_span,
            };
            properties.insert(Arc::clone(name), property);
        }
        Arc::new(properties)
    }

    /// Returns the attributes of a template that sets none.
    pub(super) fn default_attributes(defs: &Defs) -> Arc<Attributes> {
        let declared = defs.iter().map(|(name, def)| {
            let attribute = AttributeDecl {
                default: def.default.clone(),
                sensitive: def.is_sensitive(),
                definition: Some(Arc::clone(def)),
            };
            (Arc::clone(name), attribute)
        });
        Arc::new(declared.collect())
    }

    /// Returns the properties of a template. Shares those of the type if the template sets none.
    pub(super) fn properties(
        self,
        owner: &str,
        declared: DeclaredProperties<'_>,
        assigned: Option<&Mapping>,
        span: Span,
    ) -> Arc<Properties> {
        let assigned = assigned.filter(|assigned| !assigned.is_empty());
        if declared.check_required {
            self.check_required(owner, declared, assigned, span);
        }
        let Some(assigned) = assigned else {
            return Arc::clone(declared.defaults);
        };
        let mut properties = Properties::with_capacity(assigned.len() + declared.defaults.len());
        for (name, entry) in assigned {
            if let Some(property) = self.property(owner, declared, name, entry) {
                properties.insert(Arc::clone(name), property);
            }
        }
        for (name, default) in &**declared.defaults {
            if !properties.contains_key(name) {
                properties.insert(Arc::clone(name), default.clone());
            }
        }
        Arc::new(properties)
    }

    fn property(
        self,
        owner: &str,
        declared: DeclaredProperties<'_>,
        name: &Arc<str>,
        entry: &MapEntry,
    ) -> Option<Property> {
        let raw = entry.value.to_value();
        let span = entry.value.span();
        let definition = declared.defs.get(name);
        let value = match definition {
            Some(def) => {
                let name = format_args!("property `{name}`");
                let subject = Subject { name, owner };
                let origin = (Some(&entry.value), span);
                let (value, problems) = check(self.types, def, &raw, subject, origin);
                for problem in problems {
                    self.report(problem);
                }
                value
            }
            None if declared.open || is_login(declared.type_name, name) => raw,
            None => {
                self.undeclared(declared, name, entry);
                return None;
            }
        };
        Some(Property {
            value,
            definition: definition.cloned(),
            set_on_template: true,
            span,
        })
    }

    fn undeclared(self, declared: DeclaredProperties<'_>, name: &str, entry: &MapEntry) {
        let message = format!(
            "property `{name}` is not declared on `{}`",
            declared.type_name
        );
        let similar = did_you_mean(name, declared.defs.keys().map(|name| &**name));
        // A template may set what only its reader knows. A misspelt name would leave the default in place.
        let problem = match &similar {
            Some(_) => Diagnostic::error(message)
                .label(entry.key_span, "")
                .contained(),
            None => Diagnostic::warning(message).label(entry.key_span, "ignored"),
        };
        self.report(problem.check(Check::UndeclaredProperty).help_if(similar));
    }

    fn check_required(
        self,
        owner: &str,
        declared: DeclaredProperties<'_>,
        assigned: Option<&Mapping>,
        span: Span,
    ) {
        let missing = declared.defs.iter().filter(|(name, def)| {
            def.required
                && def.default.is_none()
                && assigned.is_none_or(|map| map.get(name).is_none())
        });
        for (name, def) in missing {
            let message = format!(
                "{owner} has no property `{name}`, which `{}` requires",
                declared.type_name
            );
            self.report(
                Diagnostic::error(message)
                    .check(Check::MissingProperty)
                    .contained()
                    .label(span, "")
                    .label(def.span, "declared here")
                    .help(format!("add `{name}` to its `properties`")),
            );
        }
    }

    /// Returns the attributes of a template. Shares those of the type if the template sets none.
    pub(super) fn attributes(
        self,
        owner: &str,
        defs: &Defs,
        defaults: &Arc<Attributes>,
        assigned: Option<&Node>,
    ) -> Arc<Attributes> {
        let Some(assigned) = assigned else {
            return Arc::clone(defaults);
        };
        let Some(assigned) = self.map(assigned, || format!("`attributes` of {owner}")) else {
            return Arc::clone(defaults);
        };
        let mut attributes = Attributes::clone(defaults);
        for (name, entry) in assigned {
            let definition = defs.get(name);
            let attribute = AttributeDecl {
                default: Some(entry.value.to_value()),
                sensitive: definition.is_some_and(|def| def.is_sensitive()),
                definition: definition.cloned(),
            };
            attributes.insert(Arc::clone(name), attribute);
        }
        Arc::new(attributes)
    }
}
