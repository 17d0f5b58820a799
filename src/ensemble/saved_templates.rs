//! The node templates that records keep, so that what was made of them can be removed when the
//! model has them no more. Each change record has those that are new or differ from what was kept
//! before; `jobs.tsv` lists them with digests.

use std::collections::HashMap;
use std::sync::Arc;

use crate::job::Report;
use crate::name::TemplateName;
use crate::topology::Topology;
use crate::tosca::NodeTemplate;
use crate::value::{Map, Value, canonical_sha256, decode_percent};

/// How many hexadecimal digits tell one version of a template from another.
const DIGEST_LENGTH: usize = 16;

/// Where a template was kept last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedTemplate {
    /// The digest of what was kept.
    pub digest: String,
    /// The change record, relative to the ensemble; none for the changes within the ensemble itself.
    pub changelog: Option<Arc<str>>,
}

/// Where each template was kept last, by its name.
pub type SavedTemplates = HashMap<TemplateName, SavedTemplate>;

/// The records that keep templates, in order, each with their names and digests, not read yet.
#[derive(Debug, Clone, Default)]
pub struct SavedTemplateIndex(Vec<(Option<Arc<str>>, String)>);

impl SavedTemplateIndex {
    pub(super) fn push(&mut self, changelog: Option<Arc<str>>, digests: String) {
        self.0.push((changelog, digests));
    }

    /// Where each template was kept last.
    pub fn read(&self) -> SavedTemplates {
        let mut known = SavedTemplates::new();
        for (changelog, digests) in &self.0 {
            read_digests(digests, changelog.as_ref(), &mut known);
        }
        known
    }
}

/// The templates that a job's record keeps.
#[derive(Debug, Clone, Default)]
pub(super) struct NewTemplates {
    /// The templates by name.
    pub(super) templates: Map,
    /// Their names and digests, for `jobs.tsv`.
    pub(super) digests: String,
}

impl NewTemplates {
    /// Those of all instances that exist, but for those that were kept as they are now.
    pub(super) fn of(report: &Report, saved: &SavedTemplates) -> Self {
        let mut new = Self::default();
        for template in templates_of_instances(&report.topology) {
            let portable = report.topology.service().to_portable(template);
            let added = || report.values.discovered.get(template.name.as_str());
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

/// The templates of the outermost topology that have instances on record.
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

/// Reads names and digests into what is known.
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

/// A name without the characters that lists and lines of `jobs.tsv` consist of.
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
