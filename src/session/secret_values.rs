//! The places of values that the model declares to be secret.

use std::path::PathBuf;

use super::connections;
use super::session::Session;
use crate::diagnostic::Span;

/// The place of a value in a file that the model declares to be secret.
#[derive(Debug, Clone)]
pub(crate) struct SecretValue {
    /// The file.
    pub(crate) path: PathBuf,
    /// The offset of the value or of its key.
    pub(crate) start: usize,
    /// The meaning of the value, for messages.
    pub(crate) subject: String,
}

/// Returns the places of secret properties and inputs, and of the secrets of the environment. Defaults of types are
/// left out.
pub(crate) fn secret_values(session: &Session) -> Vec<SecretValue> {
    let mut found: Vec<(Span, String)> = Vec::new();
    let topology = &session.service.topology;
    for (node, template) in &topology.nodes {
        for (name, property) in &*template.properties {
            let is_secret = property
                .definition
                .as_ref()
                .is_some_and(|it| it.is_sensitive());
            if is_secret && property.set_on_template {
                found.push((
                    property.span,
                    format!("the property `{name}` of `{node}` is sensitive"),
                ));
            }
        }
    }
    for (node, template) in &topology.relationships {
        for (name, property) in &*template.properties {
            let is_secret = property
                .definition
                .as_ref()
                .is_some_and(|it| it.is_sensitive());
            if is_secret && property.set_on_template {
                found.push((
                    property.span,
                    format!("the property `{name}` of `{node}` is sensitive"),
                ));
            }
        }
    }
    for (name, input) in &topology.inputs {
        let source = session.input_sources.get(name);
        if let Some(source) = source.filter(|source| input.is_sensitive() && !source.is_given()) {
            found.push((source.span(), format!("the input `{name}` is sensitive")));
        }
    }
    let service = Some(&*session.service);
    for span in connections::secrets(&session.environment, service) {
        let subject = "the value is a secret of the environment".to_owned();
        found.push((span, subject));
    }
    let place = |(span, subject): (Span, String)| {
        let source = session.sources.get(span.source)?;
        Some(SecretValue {
            path: source.path.clone(),
            start: span.start as usize,
            subject,
        })
    };
    let mut values: Vec<SecretValue> = found.into_iter().filter_map(place).collect();
    values.sort_by(|a, b| (&a.path, a.start).cmp(&(&b.path, b.start)));
    values.dedup_by(|a, b| (&a.path, a.start) == (&b.path, b.start));
    values
}
