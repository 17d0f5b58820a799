//! Restores the node templates of orphans (recorded instances whose template was removed from the model), so
//! that `--prune` can delete them.
//!
//! The templates come from change records, or else from the git history of the ensemble.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::error::LoadError;
use super::loader;
use super::orphan_templates::{OrphanReasons, OrphanTemplates, TemplateEntries};
use super::session::Session;
use super::template_history;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::ensemble::{self, RecordedHistory, SavedTemplates};
use crate::name::TemplateName;
use crate::system::fs;
use crate::topology::Topology;
use crate::value::{REDACTED, Value};
use crate::yaml::{self, Limits, MapEntry, Mapping, Node, NodeKind};

/// The maximum number of orphans listed individually in warnings.
const MAX_NAMED: usize = 20;

/// Returns the topology of a job. With `prune`, the templates of orphans are restored.
pub(crate) fn topology(
    session: &mut Session,
    prune: bool,
    history: &RecordedHistory,
) -> Result<Topology, LoadError> {
    let mut topology = session.topology_of_job()?;
    if prune && topology.orphans().next().is_some() {
        topology = restore_templates(session, topology, &history.saved_templates().read())?;
    }
    session.warnings.append(warnings(&topology));
    Ok(topology)
}

/// Loads the ensemble again with the saved templates of its orphans, as far as they are still valid. The
/// other instances stay orphans and get a reason.
fn restore_templates(
    session: &mut Session,
    topology: Topology,
    kept: &SavedTemplates,
) -> Result<Topology, LoadError> {
    let mut reasons = OrphanReasons::new();
    let mut names_to_find = BTreeSet::new();
    for orphan in topology.orphans() {
        if topology.root_of(orphan.parent) == topology.root() {
            names_to_find.insert(orphan.template.clone());
        } else {
            let why = "it is part of a nested topology whose file no longer has its template";
            reasons.insert(orphan.template.clone(), why.to_owned());
        }
    }
    let mut found = session.location.clone();
    let templates = SavedTemplateReader {
        session,
        saved: kept,
    }
    .read(&names_to_find, &mut found.sources, &mut reasons);
    let mut orphan_templates = OrphanTemplates::new(templates, reasons);
    if !orphan_templates.is_empty()
        && let Ok(again) = loader::load_with(found, &session.options, &mut orphan_templates)
    {
        *session = again;
        let mut topology = session.topology_of_job()?;
        topology.explain_orphans(orphan_templates.reasons());
        return Ok(topology);
    }
    let mut topology = topology;
    topology.explain_orphans(orphan_templates.reasons());
    Ok(topology)
}

/// Reads saved templates from change records and the git history.
#[derive(Debug, Clone, Copy)]
struct SavedTemplateReader<'a> {
    session: &'a Session,
    saved: &'a SavedTemplates,
}

impl SavedTemplateReader<'_> {
    /// Reads the last saved version of each template. Each file is read once.
    fn read(
        self,
        names_to_find: &BTreeSet<TemplateName>,
        sources: &mut Sources,
        reasons: &mut OrphanReasons,
    ) -> TemplateEntries {
        let mut files: BTreeMap<Option<Arc<str>>, Vec<&TemplateName>> = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for name in names_to_find {
            match self.saved.get(name) {
                Some(kept) => files.entry(kept.changelog.clone()).or_default().push(name),
                None => drop(missing.insert(name.clone())),
            }
        }
        let mut found = TemplateEntries::new();
        for (file, names) in files {
            let templates = match &file {
                Some(file) => self.file(file, sources),
                None => Ok(self.inline(&names, sources)),
            };
            let map = templates.as_ref().ok().and_then(|it| it.as_ref()?.as_map());
            for name in names {
                if let Some(entry) = map.and_then(|map| map.entry(name.as_str())) {
                    found.insert(name.clone(), self.readable(entry));
                    continue;
                }
                let file = file.as_deref().unwrap_or("`changes`");
                let why = templates.as_ref().err();
                reasons.insert(name.clone(), unreadable_reason(name, file, why));
                missing.insert(name.clone());
            }
        }
        if missing.is_empty() {
            return found;
        }
        let past = template_history::templates(self.session.manifest.path(), &missing, sources);
        for name in &missing {
            match past.get(name) {
                Some(entry) => {
                    reasons.remove(name);
                    found.insert(name.clone(), self.readable(entry));
                }
                None => drop(
                    reasons
                        .entry(name.clone())
                        .or_insert_with(|| never_saved_reason(name)),
                ),
            }
        }
        found
    }

    /// Returns a saved template with its encrypted values decrypted. Values that are not known become
    /// expressions that fail.
    fn readable(self, entry: &MapEntry) -> MapEntry {
        let keys = &self.session.location.keys;
        let value = entry.value.opened(keys, &mut Diagnostics::default());
        without_secrets(&MapEntry::new(entry.key_span, value))
    }

    fn file(self, file: &str, sources: &mut Sources) -> Result<Option<Node>, String> {
        let manifest = self.session.manifest.path();
        let path = self.session.manifest.base_dir().join(file);
        let bytes = ensemble::open_folder(manifest)
            .and_then(|folder| folder.read(Path::new(file), fs::MAX_READ_BYTES))
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
        let root = parse(&path.to_string_lossy(), &text, sources)?;
        Ok(root.get("templates").cloned())
    }

    /// Returns the last saved version of each template in the manifest's own change records.
    fn inline(self, names: &[&TemplateName], sources: &mut Sources) -> Option<Node> {
        let changes = self.session.manifest.inline_changes();
        let mut latest = crate::value::Map::new();
        for record in changes.as_list().into_iter().flatten() {
            let templates = record.get("templates").and_then(Value::as_map);
            for (name, template) in templates.into_iter().flatten() {
                if names
                    .iter()
                    .any(|names_to_find| *names_to_find.as_str() == **name)
                {
                    latest.insert(Arc::clone(name), template.clone());
                }
            }
        }
        let text = yaml::emit(&Value::from(latest), 0);
        parse("changes", &text, sources).ok()
    }
}

fn never_saved_reason(name: &TemplateName) -> String {
    format!(
        "its template `{name}` is neither in a record nor in a commit; restore the template in the \
         model, or remove the resources and the record in `status` by hand"
    )
}

fn unreadable_reason(name: &TemplateName, file: &str, why: Option<&String>) -> String {
    let why = why.map_or("the file does not exist", String::as_str);
    format!(
        "its template `{name}` was saved in {file} and cannot be read: {why}; restore that file, \
         or restore the template in the model"
    )
}

fn parse(name: &str, text: &str, sources: &mut Sources) -> Result<Node, String> {
    let source = sources.add(name, text, None);
    yaml::parse(sources, source, &Limits::default()).map_err(|problems| problems.first_message())
}

/// Replaces redacted secrets by expressions that fail with a message, because secrets are not saved.
fn without_secrets(entry: &MapEntry) -> MapEntry {
    MapEntry::new(entry.key_span, replace_secrets("", &entry.value))
}

fn replace_secrets(name: &str, node: &Node) -> Node {
    let kind = match node.kind() {
        NodeKind::Str(text) if **text == *REDACTED => {
            let argument = Node::new(NodeKind::Str(name.into()), node.span(), None);
            return wrap_in_map("eval", wrap_in_map("_left_out", argument));
        }
        NodeKind::Map(map) => {
            let entries = map.iter().map(|(key, entry)| {
                let value = replace_secrets(key, &entry.value);
                let key_span = entry.key_span;
                (Arc::clone(key), MapEntry { key_span, value })
            });
            NodeKind::Map(entries.collect())
        }
        NodeKind::Seq(items) => NodeKind::Seq(
            items
                .iter()
                .map(|item| replace_secrets(name, item))
                .collect(),
        ),
        _ => return node.clone(),
    };
    Node::new(kind, node.span(), None)
}

fn wrap_in_map(key: &str, value: Node) -> Node {
    let span = value.span();
    let mut map = Mapping::default();
    map.insert(key, MapEntry::new(span, value));
    Node::new(NodeKind::Map(map), span, None)
}

/// Returns a warning for each instance whose template was removed from the model.
fn warnings(topology: &Topology) -> Diagnostics {
    let mut warnings = Diagnostics::default();
    let all = topology.orphans().count();
    for orphan in topology.orphans().take(MAX_NAMED) {
        let message = format!(
            "the instance `{}` exists, but its template `{}` is no longer in the model",
            orphan.name, orphan.template
        );
        let help = orphan.retention_reason.clone().unwrap_or_else(|| {
            "`unfurl deploy --prune` or `unfurl teardown --prune` removes it".to_owned()
        });
        // The user requested to remove the orphan, so the failure is an error.
        let problem = match orphan.retention_reason {
            Some(_) => Diagnostic::error(message),
            None => Diagnostic::warning(message),
        };
        warnings.push(problem.help(help));
    }
    if all > MAX_NAMED {
        let message = match all - MAX_NAMED {
            1 => "1 more instance exists whose template is no longer in the model".to_owned(),
            more => {
                format!("{more} more instances exist whose templates are no longer in the model")
            }
        };
        warnings.push(Diagnostic::warning(message).help("the plan and the summary list them"));
    }
    warnings
}
