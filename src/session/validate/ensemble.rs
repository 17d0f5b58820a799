//! Validates ensembles, and projects with all ensembles that they list.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Diagnostics, Sources};
use crate::plan;
use crate::project::{FileLoader, Project, keys_of_folder};
use crate::schedule::{Schedules, secret_spans};
use crate::session;
use crate::session::LoadError;
use crate::session::SessionOptions;
use crate::system::env::Env;
use crate::system::fs;
use crate::tosca::TopologyTemplate;
use crate::yaml::Limits;

/// The name of the file from which the ensembles of a project are made.
const TEMPLATE: &str = "ensemble-template.yaml";

/// The result of validating an ensemble or service template.
#[derive(Debug, Clone, Default)]
pub struct ValidationReport {
    pub problems: Diagnostics,
    /// The texts to which the problems point.
    pub sources: Sources,
    /// The topology of an ensemble that could be loaded.
    pub topology: Option<Arc<TopologyTemplate>>,
}

/// Validates an ensemble: its files, topology and dependency cycles.
pub(super) fn ensemble(options: &SessionOptions) -> ValidationReport {
    check(options).unwrap_or_else(|failure| ValidationReport {
        problems: failure.problems,
        sources: failure.sources,
        topology: None,
    })
}

fn check(options: &SessionOptions) -> Result<ValidationReport, LoadError> {
    let found = session::find(options)?;
    let options = SessionOptions {
        check_unused: true,
        ..options.clone()
    };
    let mut session = session::load(found, &options)?;
    let topology = session.topology_of_job()?;
    let mut problems = std::mem::take(&mut session.warnings);
    problems.append(session::static_problems(&session));
    if let Err(error) = plan::refuse_cycles(&topology) {
        problems.push(Diagnostic::from(error).check(Check::RequirementCycle));
    }
    Ok(ValidationReport {
        problems,
        topology: Some(Arc::clone(&session.service.topology)),
        sources: session.sources,
    })
}

/// Returns the report about the schedules of the project that an ensemble belongs to, if they have problems.
pub(super) fn schedules_around(options: &SessionOptions, env: &Env) -> Option<ValidationReport> {
    let found = session::find(options).ok()?;
    let project = found.located.project?;
    if project.schedules.is_empty() {
        return None;
    }
    schedules(&project.file?, options, env)
}

/// Returns the report about the schedules of a project file, if they have problems.
fn schedules(file: &Path, options: &SessionOptions, env: &Env) -> Option<ValidationReport> {
    let mut report = ValidationReport::default();
    let mut loader = loader_of(file, options, env, &mut report.sources);
    let project = Project::load(file, &mut loader, &Limits::default()).ok()?;
    // The excerpts of messages must not show the keys of webhooks.
    for section in &project.schedules {
        loader.hide(&secret_spans(&section.node));
    }
    drop(loader);
    report.problems = Schedules::read_all(&project.schedules).problems;
    (!report.problems.is_empty()).then_some(report)
}

/// Returns a loader with the keys of the folder of a project file.
fn loader_of<'s>(
    file: &Path,
    options: &SessionOptions,
    env: &'s Env,
    sources: &'s mut Sources,
) -> FileLoader<'s> {
    let mut loader = FileLoader::new(sources, env, Limits::default());
    loader.scope().add_file(file);
    let folder = file.parent().unwrap_or(Path::new("/"));
    loader.set_keys(keys_of_folder(
        folder,
        options.home.as_deref(),
        options.environment.as_deref(),
        env,
    ));
    loader
}

/// Validates a project file with its schedules, then each listed ensemble, or the default one if none is listed. Returns
/// one report for the schedules if they have problems, and one for each ensemble.
pub(super) fn project(file: &Path, options: &SessionOptions, env: &Env) -> Vec<ValidationReport> {
    let mut own = ValidationReport::default();
    let mut loader = loader_of(file, options, env, &mut own.sources);
    let loaded = Project::load(file, &mut loader, &Limits::default());
    own.problems.append(loader.take_warnings());
    drop(loader);
    let manifests = match loaded {
        Ok(project) => manifests(&project),
        Err(error) => {
            own.problems.append(error.into());
            Vec::new()
        }
    };
    let schedules = schedules(file, options, env);
    if manifests.is_empty() {
        let checked = match template_of(file) {
            Some(template) if !own.problems.has_errors() => vec![ensemble(&SessionOptions {
                ensemble: template.display().to_string(),
                incomplete: true,
                ..options.clone()
            })],
            _ => vec![own],
        };
        return schedules.into_iter().chain(checked).collect();
    }
    let checks = manifests.iter().map(|manifest| {
        ensemble(&SessionOptions {
            ensemble: manifest.display().to_string(),
            ..options.clone()
        })
    });
    schedules.into_iter().chain(checks).collect()
}

/// Returns the file from which the project's ensembles are made, if it exists.
fn template_of(file: &Path) -> Option<PathBuf> {
    let template = file.with_file_name(TEMPLATE);
    fs::is_file(&template).then_some(template)
}

fn manifests(project: &Project) -> Vec<PathBuf> {
    let mut manifests: Vec<PathBuf> = Vec::new();
    let own = project.ensembles.iter();
    for entry in own.filter(|entry| entry.project.is_none()) {
        let path = project.path_of(entry);
        if !manifests.contains(&path) {
            manifests.push(path);
        }
    }
    if manifests.is_empty() {
        manifests.extend(project.fallback_manifest());
    }
    manifests
}
