//! Brings back node templates that have left the model, as records and history keep them, so that
//! what was made of them can be removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::departed::{Departed, Reasons, Templates};
use super::error::LoadError;
use super::loaded::Session;
use super::past;
use super::reading;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::ensemble::{KeptTemplates, RecordedHistory};
use crate::name::TemplateName;
use crate::system::fs;
use crate::topology::Topology;
use crate::value::{REDACTED, Value};
use crate::yaml::{self, Entry, Kind, Limits, Mapping, Node};

/// How many instances are named one by one.
const NAMED: usize = 20;

/// The topology of a job; to prune, with what the templates of its orphans were.
pub(crate) fn topology(
    session: &mut Session,
    prune: bool,
    history: &RecordedHistory,
) -> Result<Topology, LoadError> {
    let mut topology = session.topology_of_job()?;
    if prune && topology.orphans().next().is_some() {
        topology = bring_back(session, topology, &history.kept_templates().read())?;
    }
    session.warnings.append(warnings(&topology));
    Ok(topology)
}

/// Reads the ensemble again with the templates of its orphans, as far as they are kept and still
/// fit into the model. The others stay orphans, and know why.
fn bring_back(
    session: &mut Session,
    topology: Topology,
    kept: &KeptTemplates,
) -> Result<Topology, LoadError> {
    let mut reasons = Reasons::new();
    let mut wanted = BTreeSet::new();
    for orphan in topology.orphans() {
        if topology.root_of(orphan.parent) == topology.root() {
            wanted.insert(orphan.template.clone());
        } else {
            let why = "it is part of a nested topology, whose file does not have the template";
            reasons.insert(orphan.template.clone(), why.to_owned());
        }
    }
    let mut found = session.found.clone();
    let templates = Kept { session, kept }.read(&wanted, &mut found.sources, &mut reasons);
    let mut departed = Departed::new(templates, reasons);
    if !departed.is_empty()
        && let Ok(again) = reading::load_with(found, &session.options, &mut departed)
    {
        *session = again;
        let mut topology = session.topology_of_job()?;
        topology.explain_orphans(departed.reasons());
        return Ok(topology);
    }
    let mut topology = topology;
    topology.explain_orphans(departed.reasons());
    Ok(topology)
}

/// What is kept of templates.
#[derive(Debug, Clone, Copy)]
struct Kept<'a> {
    session: &'a Session,
    kept: &'a KeptTemplates,
}

impl Kept<'_> {
    /// Reads templates from where they were kept last; each file once.
    fn read(
        self,
        wanted: &BTreeSet<TemplateName>,
        sources: &mut Sources,
        reasons: &mut Reasons,
    ) -> Templates {
        let mut files: BTreeMap<Option<Arc<str>>, Vec<&TemplateName>> = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for name in wanted {
            match self.kept.get(name) {
                Some(kept) => files.entry(kept.changelog.clone()).or_default().push(name),
                None => drop(missing.insert(name.clone())),
            }
        }
        let mut found = Templates::new();
        for (file, names) in files {
            let templates = match &file {
                Some(file) => self.file(file, sources),
                None => Ok(self.inline(&names, sources)),
            };
            let map = templates.as_ref().ok().and_then(|it| it.as_ref()?.as_map());
            for name in names {
                if let Some(entry) = map.and_then(|map| map.entry(name.as_str())) {
                    found.insert(name.clone(), without_secrets(entry));
                    continue;
                }
                let file = file.as_deref().unwrap_or("`changes`");
                let why = templates.as_ref().err();
                reasons.insert(name.clone(), lost(name, file, why));
                missing.insert(name.clone());
            }
        }
        if missing.is_empty() {
            return found;
        }
        let past = past::templates(self.session.manifest.path(), &missing, sources);
        for name in &missing {
            match past.get(name) {
                Some(entry) => {
                    reasons.remove(name);
                    found.insert(name.clone(), without_secrets(entry));
                }
                None => drop(
                    reasons
                        .entry(name.clone())
                        .or_insert_with(|| never_kept(name)),
                ),
            }
        }
        found
    }

    fn file(self, file: &str, sources: &mut Sources) -> Result<Option<Node>, String> {
        let path = self.session.manifest.base_dir().join(file);
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let root = parse(&path.to_string_lossy(), &text, sources)?;
        Ok(root.get("templates").cloned())
    }

    /// The templates in the changes within the ensemble, the last of each.
    fn inline(self, names: &[&TemplateName], sources: &mut Sources) -> Option<Node> {
        let changes = self.session.manifest.inline_changes();
        let mut latest = crate::value::Map::new();
        for record in changes.as_list().into_iter().flatten() {
            let templates = record.get("templates").and_then(Value::as_map);
            for (name, template) in templates.into_iter().flatten() {
                if names.iter().any(|wanted| *wanted.as_str() == **name) {
                    latest.insert(Arc::clone(name), template.clone());
                }
            }
        }
        let text = yaml::emit(&Value::from(latest), 0);
        parse("changes", &text, sources).ok()
    }
}

fn never_kept(name: &TemplateName) -> String {
    format!(
        "neither a record nor a commit has its template `{name}`; put it back into the model, or \
         remove by hand what was made of it and its record from `status`"
    )
}

fn lost(name: &TemplateName, file: &str, why: Option<&String>) -> String {
    let why = why.map_or("it is not there", String::as_str);
    format!(
        "its template `{name}` was kept in {file} and cannot be read: {why}; bring that file back, \
         or put the template back into the model"
    )
}

fn parse(name: &str, text: &str, sources: &mut Sources) -> Result<Node, String> {
    let source = sources.add(name, text, None);
    yaml::parse(sources, source, &Limits::default()).map_err(|problems| problems.first_message())
}

/// Puts what fails with words in the place of secrets, which are not kept.
fn without_secrets(entry: &Entry) -> Entry {
    Entry::new(entry.key_span, hollow("", &entry.value))
}

fn hollow(name: &str, node: &Node) -> Node {
    let kind = match node.kind() {
        Kind::Str(text) if **text == *REDACTED => {
            let said = Node::new(Kind::Str(name.into()), node.span(), None);
            return in_map("eval", in_map("_left_out", said));
        }
        Kind::Map(map) => {
            let entries = map.iter().map(|(key, entry)| {
                let value = hollow(key, &entry.value);
                let key_span = entry.key_span;
                (Arc::clone(key), Entry { key_span, value })
            });
            Kind::Map(entries.collect())
        }
        Kind::Seq(items) => Kind::Seq(items.iter().map(|item| hollow(name, item)).collect()),
        _ => return node.clone(),
    };
    Node::new(kind, node.span(), None)
}

fn in_map(key: &str, value: Node) -> Node {
    let span = value.span();
    let mut map = Mapping::default();
    map.insert(key, Entry::new(span, value));
    Node::new(Kind::Map(map), span, None)
}

/// Names the instances whose templates have left the model.
fn warnings(topology: &Topology) -> Diagnostics {
    let mut warnings = Diagnostics::default();
    let all = topology.orphans().count();
    for orphan in topology.orphans().take(NAMED) {
        let message = format!(
            "the instance `{}` exists, but its template `{}` is not in the model any more",
            orphan.name, orphan.template
        );
        let help = orphan.stays.clone().unwrap_or_else(|| {
            "`unfurl deploy --prune` or `unfurl teardown --prune` removes it".to_owned()
        });
        // What was asked for and could not be done is an error.
        let problem = match orphan.stays {
            Some(_) => Diagnostic::error(message),
            None => Diagnostic::warning(message),
        };
        warnings.push(problem.help(help));
    }
    if all > NAMED {
        let message = format!(
            "{} more instances exist whose templates are not in the model any more",
            all - NAMED
        );
        warnings.push(Diagnostic::warning(message).help("the plan and the summary list them"));
    }
    warnings
}
