//! The node templates stored in change records.
//!
//! They are needed to delete an instance whose template the user has removed from the model. Each change
//! record contains the templates that are new or changed since the last one; `jobs.tsv` lists them with
//! digests.

use std::collections::HashMap;
use std::sync::Arc;

use crate::job::Report;
use crate::name::TemplateName;
use crate::topology::Topology;
use crate::tosca::NodeTemplate;
use crate::value::{Map, Value, canonical_sha256, decode_percent};

/// The number of hexadecimal digits of a template's digest.
const DIGEST_LENGTH: usize = 16;

/// The last saved version of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedTemplate {
    /// The digest of the saved template.
    pub digest: String,
    /// The path of the change record, relative to the ensemble's folder; `None` if the manifest contains it.
    pub changelog: Option<Arc<str>>,
}

/// The last saved version of each template.
pub type SavedTemplates = HashMap<TemplateName, SavedTemplate>;

/// The `jobs.tsv` entries of saved templates in recorded order: the record's path and the unparsed digests.
#[derive(Debug, Clone, Default)]
pub struct SavedTemplateIndex(Vec<(Option<Arc<str>>, String)>);

impl SavedTemplateIndex {
    pub(super) fn push(&mut self, changelog: Option<Arc<str>>, digests: String) {
        self.0.push((changelog, digests));
    }

    /// Returns the last saved version of each template.
    pub fn read(&self) -> SavedTemplates {
        let mut known = SavedTemplates::new();
        for (changelog, digests) in &self.0 {
            read_digests(digests, changelog.as_ref(), &mut known);
        }
        known
    }
}

/// The templates that a new job's record must save.
#[derive(Debug, Clone, Default)]
pub(super) struct NewTemplates {
    pub(super) templates: Map,
    /// The names and digests of the templates, for `jobs.tsv`.
    pub(super) digests: String,
}

impl NewTemplates {
    /// Collects the templates of all recorded instances, except those already saved in the same version.
    pub(super) fn of(report: &Report, saved: &SavedTemplates) -> Self {
        let mut new = Self::default();
        for template in templates_of_instances(&report.topology) {
            let portable = report.topology.service().to_portable(template);
            let added = || report.values.added_templates.get(template.name.as_str());
            let Some(portable) = portable.or_else(|| added().cloned()) else {
                continue;
            };
            let digest = digest(&portable);
            if saved
                .get(&template.name)
                .is_some_and(|old| old.digest == digest)
            {
                continue;
            }
            if !new.digests.is_empty() {
                new.digests.push(',');
            }
            new.digests.push_str(&escape(template.name.as_str()));
            new.digests.push(':');
            new.digests.push_str(&digest);
            new.templates.insert(template.name.shared(), portable);
        }
        new
    }
}

/// Returns the templates of the outermost topology that have recorded instances.
fn templates_of_instances(topology: &Topology) -> impl Iterator<Item = &Arc<NodeTemplate>> {
    let mut seen = std::collections::HashSet::new();
    let nodes = topology.nodes().into_iter();
    nodes.filter_map(move |handle| {
        let template = &topology.entity(handle).node()?.template;
        let is_own = template.nested_in.is_none() && !template.is_orphaned;
        (is_own && seen.insert(template.name.clone())).then_some(template)
    })
}

fn digest(template: &Value) -> String {
    let mut digest = canonical_sha256(template);
    digest.truncate(DIGEST_LENGTH);
    digest
}

/// Parses names and digests of a `jobs.tsv` field into `known`.
fn read_digests(text: &str, changelog: Option<&Arc<str>>, known: &mut SavedTemplates) {
    for item in text.split(',') {
        let Some((name, digest)) = item.split_once(':') else {
            continue;
        };
        let saved = SavedTemplate {
            digest: digest.to_owned(),
            changelog: changelog.cloned(),
        };
        known.insert(TemplateName::new(decode_percent(name)), saved);
    }
}

/// Escapes the characters that separate items in the lists and lines of `jobs.tsv`.
fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_control() || matches!(character, '%' | ',' | ':' | '=') {
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                escaped.push('%');
                escaped.push_str(&crate::value::hex(&[byte]));
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_kinds_come_back() {
        for name in ["plain", "a:b,c=d", "tab\there", "100%", "ä%2c", "%"] {
            let mut known = SavedTemplates::new();
            let line = format!("x:1,{}:2", escape(name));
            assert_eq!(line.matches(['\t', '=']).count(), 0);
            read_digests(&line, None, &mut known);
            assert_eq!(known[name].digest, "2", "{line}");
            assert_eq!(known.len(), 2);
        }
    }

    #[test]
    fn the_latest_record_counts() {
        let mut known = SavedTemplates::new();
        let (first, second) = (Arc::from("changes/1.yaml"), Arc::from("changes/2.yaml"));
        read_digests("a:1,b:1", Some(&first), &mut known);
        read_digests("a:2", Some(&second), &mut known);
        assert_eq!(known["a"].changelog, Some(second));
        assert_eq!(known["b"].changelog, Some(first));
    }
}
