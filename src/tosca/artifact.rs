//! Reads artifacts of node types and node templates.
//!
//! [`TypeScope::artifact`] turns the YAML of an artifact into an [`Artifact`] with its type, its properties
//! and its operations.

use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::name::TypeName;
use crate::value::{Map, Value};
use crate::yaml::{MapEntry, Mapping};

use super::implementation::ArtifactScope;
use super::interface_draft::InterfaceDrafts;
use super::interface_merge::DefinitionSource;
use super::keys::ARTIFACT;
use super::operation::{Artifact, ArtifactType, Operations};
use super::property::DeclaredProperties;
use super::scope::{TypeScope, description, values_at};
use super::section::TypeSection;

/// The keys that have a field of their own in [`Artifact`], or need none. Other keys go to `fields`.
const FIELDS: &[&str] = &[
    "type",
    "file",
    "repository",
    "description",
    "properties",
    "interfaces",
    "metadata",
    "name",
    "title",
    "required",
];

impl TypeScope<'_> {
    /// Reads an artifact: a file name, or a map with a `file`.
    ///
    /// `base` is the artifact of the same name in the node type. A map without a `file` refines it: keys that
    /// the map leaves out keep the values of `base`. A map with a `file` replaces it.
    pub(super) fn artifact(
        self,
        subject: &str,
        name: &Arc<str>,
        entry: &MapEntry,
        base: Option<&Artifact>,
    ) -> Option<Artifact> {
        let MapEntry {
            key_span: span,
            value: node,
        } = entry;
        let span = *span;
        let empty = Mapping::default();
        let map = match node.as_str() {
            Some(_) => &empty,
            None => self.map(node, || subject.to_owned())?,
        };
        self.problems().report_unknown_keys(&ARTIFACT, subject, map);
        let base = base.filter(|_| map.get("file").is_none());
        let file = self.artifact_file(subject, entry, base)?;
        let (type_name, artifact_type) = self.artifact_type(map, base, span)?;
        let declared = DeclaredProperties {
            type_name: type_name.as_str(),
            defs: &artifact_type.properties,
            defaults: &artifact_type.default_properties,
            open: artifact_type.open,
            check_required: base.is_none(),
        };
        let assigned = self.map_at(map, "properties", || subject.to_owned());
        let mut properties = self.properties(subject, declared, assigned, span);
        for (name, property) in base.into_iter().flat_map(|base| &*base.properties) {
            if assigned.is_none_or(|assigned| assigned.get(name).is_none()) {
                Arc::make_mut(&mut properties).insert(Arc::clone(name), property.clone());
            }
        }
        let operations = self.artifact_operations(subject, map, &artifact_type);
        let fields = map.iter().filter(|(key, _)| !FIELDS.contains(&&***key));
        Some(Artifact {
            name: Arc::clone(name),
            type_name,
            file,
            repository: self
                .text_at(map, "repository", || subject.to_owned())
                .or_else(|| base?.repository.clone()),
            store: None,
            description: description(map),
            properties,
            operations,
            fields: fields
                .map(|(key, entry)| (Arc::clone(key), entry.value.to_value()))
                .collect::<Map>(),
            metadata: values_at(map, "metadata"),
            span,
            base_dir: self.base_dir(span),
            definition: artifact_type,
        })
    }

    /// Returns the operations of an artifact: those of its type, merged with its own `interfaces`.
    fn artifact_operations(
        self,
        subject: &str,
        map: &Mapping,
        artifact_type: &ArtifactType,
    ) -> Arc<Operations> {
        let Some(node) = map.get("interfaces") else {
            return Arc::clone(&artifact_type.operations);
        };
        let mut interfaces = InterfaceDrafts::clone(&artifact_type.interfaces);
        interfaces.merge(self, subject, node, DefinitionSource::Template);
        let base = Some((&*artifact_type.interfaces, &*artifact_type.operations));
        Arc::new(interfaces.finish(self.types, subject, &ArtifactScope::NONE, base))
    }

    fn artifact_file(
        self,
        subject: &str,
        entry: &MapEntry,
        base: Option<&Artifact>,
    ) -> Option<Value> {
        let node = &entry.value;
        match (node.as_str(), node.get("file"), base) {
            (Some(text), _, _) => Some(Value::from(text)),
            (None, Some(file), _) => Some(file.to_value()),
            (None, None, Some(base)) => Some(base.file.clone()),
            (None, None, None) => {
                let problem =
                    Diagnostic::error(format!("{subject} has no `file`")).check(Check::MissingFile);
                let problem = problem.label(entry.key_span, "");
                self.report(problem.help("add `file:` with a path, the name of an image or a URL"));
                None
            }
        }
    }

    fn artifact_type(
        self,
        map: &Mapping,
        base: Option<&Artifact>,
        span: Span,
    ) -> Option<(TypeName, Arc<ArtifactType>)> {
        let (type_name, type_span) = match (map.get("type"), base) {
            (Some(node), _) => (node.as_str().unwrap_or_default(), node.span()),
            (None, Some(base)) => {
                return Some((base.type_name.clone(), Arc::clone(&base.definition)));
            }
            (None, None) => ("tosca.artifacts.Root", span),
        };
        let key = self.require(type_name, TypeSection::Artifact, type_span)?;
        let artifact_type = self.types.artifact_type_of(key)?;
        Some((TypeName::from(type_name), artifact_type))
    }
}
