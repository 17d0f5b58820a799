//! Reads artifacts.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Span};
use crate::name::TypeName;
use crate::value::{Map, Value};
use crate::yaml::{Entry, Mapping};

use super::implementation::Artifacts;
use super::interface::Speaker;
use super::interface_draft::Interfaces;
use super::keys::ARTIFACT;
use super::operation::{Artifact, ArtifactType, Operations};
use super::property::Declared;
use super::scope::{Scope, description, values_at};
use super::section::Section;

/// The keys that have a field of their own.
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

impl Scope<'_> {
    /// Reads an artifact: a file name, or a map with a `file`. What it does not say is that of
    /// `base`, the one of the same name that its type has.
    pub(super) fn artifact(
        self,
        what: &str,
        name: &Arc<str>,
        entry: &Entry,
        base: Option<&Artifact>,
    ) -> Option<Artifact> {
        let Entry {
            key_span: span,
            value: node,
        } = entry;
        let span = *span;
        let empty = Mapping::default();
        let map = match node.as_str() {
            Some(_) => &empty,
            None => self.map(node, || what.to_owned())?,
        };
        self.problems().unknown_keys(&ARTIFACT, what, map);
        let base = base.filter(|_| map.get("file").is_none());
        let file = self.artifact_file(what, entry, base)?;
        let (type_name, artifact_type) = self.artifact_type(map, base, span)?;
        let declared = Declared {
            type_name: type_name.as_str(),
            defs: &artifact_type.properties,
            defaults: &artifact_type.default_properties,
            open: artifact_type.open,
            complete: base.is_none(),
        };
        let given = self.map_at(map, "properties", || what.to_owned());
        let mut properties = self.properties(what, declared, given, span);
        for (name, property) in base.into_iter().flat_map(|base| &*base.properties) {
            if given.is_none_or(|given| given.get(name).is_none()) {
                Arc::make_mut(&mut properties).insert(Arc::clone(name), property.clone());
            }
        }
        let operations = self.artifact_operations(what, map, &artifact_type);
        let fields = map.iter().filter(|(key, _)| !FIELDS.contains(&&***key));
        Some(Artifact {
            name: Arc::clone(name),
            type_name,
            file,
            repository: self
                .text_at(map, "repository", || what.to_owned())
                .or_else(|| base?.repository.clone()),
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

    /// The operations of an artifact: those of its type, with what it states itself.
    fn artifact_operations(
        self,
        what: &str,
        map: &Mapping,
        artifact_type: &ArtifactType,
    ) -> Arc<Operations> {
        let Some(node) = map.get("interfaces") else {
            return Arc::clone(&artifact_type.operations);
        };
        let mut interfaces = Interfaces::clone(&artifact_type.interfaces);
        interfaces.merge(self, what, node, Speaker::Template);
        let base = Some((&*artifact_type.interfaces, &*artifact_type.operations));
        Arc::new(interfaces.finish(self.types, what, &Artifacts::NONE, base))
    }

    fn artifact_file(self, what: &str, entry: &Entry, base: Option<&Artifact>) -> Option<Value> {
        let node = &entry.value;
        match (node.as_str(), node.get("file"), base) {
            (Some(text), _, _) => Some(Value::from(text)),
            (None, Some(file), _) => Some(file.to_value()),
            (None, None, Some(base)) => Some(base.file.clone()),
            (None, None, None) => {
                let problem = Diagnostic::error(format!("{what} has no `file`"));
                let problem = problem.label(entry.key_span, "");
                self.report(problem.help("say which file, image or URL it is"));
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
        let key = self.require(type_name, Section::Artifact, type_span)?;
        let artifact_type = self.types.artifact_type_of(key)?;
        Some((TypeName::from(type_name), artifact_type))
    }
}
