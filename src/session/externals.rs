//! Loads the external ensembles whose instances an ensemble uses (`external`, `imported`, and the directive
//! `select`).
//!
//! [`add_external_ensembles`] loads them before the recorded instances are read; [`add_selected_instances`] adds imported instances afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ensemble_location::find;
use super::error::LoadError;
use super::loader;
use super::local_system_context::LocalSystem;
use super::options::SessionOptions;
use super::read_scope::{check_manifest, folder_of_repository, is_in_home};
use super::session::Session;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::system::fs;
use crate::text::without_logins;
use crate::topology::{ExternalEnsemble, Topology};
use crate::value::Value;
use crate::yaml::{MapEntry, Node};

/// The maximum length of a chain of ensembles that use each other.
const MAX_DEPTH: usize = 16;

/// An error that prevents an external ensemble from being used.
struct ExternalError {
    message: String,
    help: Option<String>,
}

impl From<String> for ExternalError {
    fn from(message: String) -> Self {
        Self {
            message,
            help: None,
        }
    }
}

impl From<LoadError> for ExternalError {
    fn from(failure: LoadError) -> Self {
        let first = failure.problems.iter().next();
        let place = first.and_then(|problem| failure.sources.position(problem.span()?));
        let message = failure.problems.first_message();
        let help = first.and_then(|problem| problem.help.clone());
        let message = match place {
            Some(place) => format!("{message} ({place})"),
            None => message,
        };
        Self { message, help }
    }
}

/// Adds the ensembles listed under `external` in the environment, and those of the project that templates or
/// recorded instances name.
pub(crate) fn add_external_ensembles(
    session: &mut Session,
    topology: &mut Topology,
    problems: &mut Diagnostics,
) {
    let external = session.environment.external().and_then(Node::as_map);
    let named: Vec<(Arc<str>, MapEntry)> = external
        .into_iter()
        .flatten()
        .map(|(name, entry)| (Arc::clone(name), entry.clone()))
        .collect();
    for (name, entry) in &named {
        let span = entry.key_span;
        match find_external(session, name, &entry.value) {
            Ok(None) => {}
            Ok(Some(foreign)) => {
                if topology.add_external_ensemble(foreign) {
                    import_connections(topology, name, &entry.value, problems);
                } else {
                    let why = "the total number of instances is too large".to_owned();
                    report_unusable_ensemble(session, problems, name, span, why.into());
                }
            }
            Err(why) => report_unusable_ensemble(session, problems, name, span, why),
        }
    }
    for (imported, span) in imported_names(session, topology) {
        let name = imported.split(':').next().unwrap_or_default();
        if topology.external_handle(name).is_some()
            || named.iter().any(|(known, _)| **known == *name)
        {
            continue;
        }
        let project = session.location.located.project.as_ref();
        let Some(file) = project.and_then(|it| Some(it.path_of(it.entry_named(name)?))) else {
            continue;
        };
        let found = load(session, &file, None, false).map(|found| {
            let found = found?;
            ExternalEnsemble::new(name, found.topology, found.system_context, None)
        });
        match found {
            Ok(Some(foreign)) => drop(topology.add_external_ensemble(foreign)),
            Ok(None) => {}
            Err(why) => report_unusable_ensemble(session, problems, name, span, why),
        }
    }
}

/// Makes the connections of another ensemble available that its entry lists.
fn import_connections(
    topology: &mut Topology,
    ensemble: &str,
    entry: &Node,
    problems: &mut Diagnostics,
) {
    let listed = entry.get("connections").and_then(Node::as_seq);
    let listed: Vec<(Arc<str>, Span)> = listed
        .into_iter()
        .flatten()
        .filter_map(|item| Some((item.as_str()?.into(), item.span())))
        .collect();
    if listed.is_empty() {
        return;
    }
    let names: Vec<Arc<str>> = listed.iter().map(|(name, _)| Arc::clone(name)).collect();
    for missing in topology.import_connections(ensemble, &names) {
        let place = listed.iter().find(|(name, _)| *name == missing);
        let message = format!("the external ensemble `{ensemble}` has no connection `{missing}`");
        let help = "name a connection of its environment or service template, or \
                    `INSTANCE::REQUIREMENT` for one that a requirement states";
        let place = place.map_or(Span::NONE, |(_, span)| *span);
        problems.push(
            Diagnostic::error(message)
                .label(place, "named here")
                .help(help),
        );
    }
}

/// Reports an external ensemble that cannot be used: as an error if this project names it, as a warning if
/// the home project names it for all projects.
fn report_unusable_ensemble(
    session: &mut Session,
    problems: &mut Diagnostics,
    name: &str,
    span: Span,
    why: ExternalError,
) {
    let message = format!(
        "the external ensemble `{name}` cannot be used: {}",
        why.message
    );
    let is_homes = is_in_home(&session.sources, span, &session.options);
    let mut diagnostic = if is_homes {
        Diagnostic::warning(message)
    } else {
        Diagnostic::error(message)
    };
    diagnostic = diagnostic.label(span, "named here");
    diagnostic.help = why.help;
    if is_homes {
        session.warnings.push(diagnostic);
    } else {
        problems.push(diagnostic);
    }
}

/// Returns the imported names (`ENSEMBLE:INSTANCE`) in templates and recorded instances.
fn imported_names(session: &Session, topology: &Topology) -> Vec<(Arc<str>, Span)> {
    let nodes = topology.template().nodes.values();
    let stated = nodes.filter_map(|node| Some((node.imported.clone()?, node.span)));
    let mut names: Vec<(Arc<str>, Span)> = stated.collect();
    let status = session.manifest.root().get("status");
    let recorded = status.and_then(|status| status.get("instances")?.as_map());
    for (_, entry) in recorded.into_iter().flatten() {
        if let Some(imported) = entry.value.get("imported").and_then(Node::as_str) {
            names.push((imported.into(), entry.key_span));
        }
    }
    names.retain(|(name, _)| !name.starts_with(':'));
    names
}

/// Loads the ensemble of an `external` entry; returns `None` if it is this ensemble or one that uses it.
fn find_external(
    session: &Session,
    name: &str,
    entry: &Node,
) -> Result<Option<ExternalEnsemble>, ExternalError> {
    let Some(location) = entry.get("manifest") else {
        return Err("the entry has no `manifest`".to_owned().into());
    };
    let file = file_of(session, location)?;
    let text = |key: &str| entry.get(key).and_then(Node::as_str);
    let environment = location.get("environment").and_then(Node::as_str);
    let is_of_home = is_in_home(&session.sources, entry.span(), &session.options);
    let Some(LoadedExternal {
        topology,
        system_context,
        metadata,
    }) = load(session, &file, environment, is_of_home)?
    else {
        return Ok(None);
    };
    if let Some(uri) = text("uri") {
        check_uri(&metadata, uri)?;
    }
    let version = entry.get("version").filter(|version| !version.is_null());
    if let Some(version) = version {
        check_version(&topology, &version.to_value().to_string())?;
    }
    let instance = text("instance");
    let schema = entry.get("schema").map(Node::to_value);
    let schema = schema.as_ref().and_then(Value::as_map).cloned();
    let Some(foreign) = ExternalEnsemble::new(name, topology, system_context, instance) else {
        let instance = instance.unwrap_or("root");
        return Err(format!("it has no instance `{instance}`").into());
    };
    Ok(Some(foreign.with_schema(schema.unwrap_or_default())))
}

/// Checks that an ensemble states a URI, in `uri` or `aliases` of its metadata.
fn check_uri(metadata: &Value, required: &str) -> Result<(), ExternalError> {
    let uri = metadata.get("uri").and_then(Value::as_str);
    let aliases = metadata.get("aliases").and_then(Value::as_list);
    let aliases = aliases.into_iter().flatten().filter_map(Value::as_str);
    let stated: Vec<&str> = uri.into_iter().chain(aliases).collect();
    if stated.contains(&required) {
        return Ok(());
    }
    let shown = |uri: &&str| format!("`{}`", without_logins(uri));
    let message = match stated.iter().map(shown).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "its `metadata` states no `uri`".to_owned(),
        all => format!("its URI is {all}"),
    };
    Err(format!("{message}, but `{}` is required", without_logins(required)).into())
}

fn check_version(topology: &Topology, required: &str) -> Result<(), ExternalError> {
    let own = topology.service().metadata.get("template_version");
    let Some(own) = own.filter(|own| !own.is_null()) else {
        let message = format!("it declares no version, but version `{required}` is required");
        return Err(message.into());
    };
    let own = own.to_string();
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    let parts = |version: &str| -> Vec<u64> {
        let parts = version.split('.');
        parts.map(|part| part.parse().unwrap_or(0)).collect()
    };
    if major(&own) == major(required) && parts(&own) >= parts(required) {
        return Ok(());
    }
    Err(format!("its version is `{own}`, but version `{required}` is required").into())
}

/// Returns the file or folder of the ensemble that a location names.
fn file_of(session: &Session, location: &Node) -> Result<PathBuf, ExternalError> {
    let text = |key: &str| location.get(key).and_then(Node::as_str);
    let file = text("file").unwrap_or_default();
    let folder = if let Some(project) = text("project") {
        let known = session.location.located.project.as_ref();
        let known = known.and_then(|known| known.projects.get(project));
        let home = session.options.home.as_ref();
        let folder = known.or_else(|| home.filter(|_| project == "home"));
        let folder = folder.map(|folder| fs::absolute(folder, &session.project));
        folder.ok_or_else(|| format!("the project `{project}` is unknown"))?
    } else if let Some(name) = text("repository") {
        let repositories = session.environment.repositories();
        let repository = repositories.and_then(|all| all.get(name));
        let base = session.manifest.base_dir();
        let folder = repository.and_then(|it| folder_of_repository(it, base));
        folder.ok_or_else(|| format!("the repository `{name}` was not found on this machine"))?
    } else {
        let source = session.sources.get(location.span().source);
        let folder = source.and_then(|source| source.path.parent());
        let folder = folder.unwrap_or(Path::new("."));
        fs::absolute(folder, session.manifest.base_dir())
    };
    Ok(fs::absolute(Path::new(file), &folder))
}

/// A loaded external ensemble.
struct LoadedExternal {
    topology: Arc<Topology>,
    /// The system context for its expressions.
    system_context: Arc<LocalSystem>,
    /// The `metadata` of its manifest.
    metadata: Value,
}

/// Loads another ensemble with its recorded state; returns `None` if it is this ensemble or one that uses it.
fn load(
    session: &Session,
    file: &Path,
    environment: Option<&str>,
    is_named_by_home: bool,
) -> Result<Option<LoadedExternal>, ExternalError> {
    if !is_named_by_home && let Err(problem) = check_manifest(&session.scope, file) {
        return Err(ExternalError {
            message: problem.message,
            help: problem.help,
        });
    }
    if !fs::exists(file) {
        return Err(format!("there is no file `{}`", file.display()).into());
    }
    let options = SessionOptions {
        ensemble: file.display().to_string(),
        environment: environment.map(str::to_owned),
        vars: Vec::new(),
        var_files: Vec::new(),
        is_external: true,
        check_unused: false,
        ..session.options.clone()
    };
    let found = find(&options)?;
    let manifest = fs::canonicalize(&found.located.manifest);
    let manifest = manifest.unwrap_or_else(|_| found.located.manifest.clone());
    if session.manifest_chain.contains(&manifest) {
        return Ok(None);
    }
    if session.manifest_chain.len() >= MAX_DEPTH {
        return Err(
            format!("external ensembles are nested more than {MAX_DEPTH} levels deep").into(),
        );
    }
    let mut other = loader::load(found, &options)?;
    other
        .manifest_chain
        .extend(session.manifest_chain.iter().cloned());
    let topology = other.topology()?;
    let planned = other.manifest.base_dir().join("planned");
    let topology = Arc::new(topology);
    let system_context = Arc::new(other.system_context(planned.clone()));
    let variables = other.variables(&topology, &system_context)?;
    let mut system_context =
        Arc::into_inner(system_context).unwrap_or_else(|| other.system_context(planned));
    system_context.set_variables(&variables.values);
    let metadata = other.manifest.root().get("metadata").map(Node::to_value);
    Ok(Some(LoadedExternal {
        topology,
        system_context: Arc::new(system_context),
        metadata: metadata.unwrap_or_default(),
    }))
}

/// Adds imported instances for the templates that select an instance of an external ensemble.
pub(crate) fn add_selected_instances(
    session: &mut Session,
    topology: &mut Topology,
    problems: &mut Diagnostics,
) {
    let service = Arc::clone(topology.service());
    let nodes = service.topology.nodes.values();
    let selected = nodes.filter(|node| node.is_selected() && node.nested_in.is_none());
    for template in selected {
        if !topology.instances_of(&template.name).is_empty() {
            continue;
        }
        let name = &template.name;
        match (topology.select_imported(template), &template.imported) {
            (Some((imported, of)), _) => topology.add_imported_node(template, imported, of),
            (None, Some(imported)) => {
                let message = format!(
                    "node template `{name}` represents `{imported}`, which no external ensemble has"
                );
                problems.push(missing_instance(message, template.span, imported));
            }
            (None, None) => {
                let message =
                    format!("no external ensemble has an instance for the node template `{name}`");
                let help = "select it with `imported: ENSEMBLE:INSTANCE`, or search all instances \
                            of an external ensemble with `instance: '*'`";
                let warning = Diagnostic::warning(message).label(template.span, "selected here");
                session.warnings.push(warning.help(help));
            }
        }
    }
}

/// Returns the error for a missing instance of an external ensemble.
pub(crate) fn missing_instance(message: String, span: Span, imported: &str) -> Diagnostic {
    let (ensemble, instance) = imported.split_once(':').unwrap_or((imported, "root"));
    let help = format!(
        "add the ensemble `{ensemble}` to `external` in the environment, and check with `unfurl \
         status` that it has an instance `{instance}`"
    );
    Diagnostic::error(message).label(span, "").help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::LoadErrorKind;

    #[test]
    fn a_failure_names_the_place_in_the_other_ensemble() {
        let failure = LoadError::new(
            LoadErrorKind::Invalid,
            "it is broken",
            Some("mend it".to_owned()),
        );
        let why = ExternalError::from(failure);
        assert_eq!(why.message, "it is broken");
        assert_eq!(why.help.as_deref(), Some("mend it"));
    }
}
