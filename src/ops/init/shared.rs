//! Creates the ensemble of a project in a shared repository, which another project has.

use std::path::{Path, PathBuf};

use super::ensemble::unused_folder;
use super::new_project::entry_of;
use super::registration::{home_of, project_around, register_in};
use super::report::InitReport;
use super::request::{InitRequest, Layout};
use super::target;
use super::{EnsembleModel, NewEnsemble, create_ensemble};
use crate::diagnostic::Sources;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::{
    FileLoader, NewEntry, PROJECT_FILE, PROJECT_FOLDER, Project, Registration, register_ensemble,
    unused_project_name,
};
use crate::system::env::Env;
use crate::system::fs;
use crate::value::{Map, Value};
use crate::yaml::{Limits, Node};

/// The value of `defaultProject` that means the project of the environment itself.
const SELF: &str = "SELF";

/// Returns the folder of the project in which ensembles are to be created: that of the option, or that of the
/// environment. `None` means the project itself.
pub(super) fn shared_project(
    request: &InitRequest,
    project: Option<&Path>,
) -> Result<Option<PathBuf>, Failure> {
    let found = match &request.shared_repository {
        Some(path) => {
            let folder = target::absolute(&path.to_string_lossy())?;
            let found = project_around(&folder).filter(|_| fs::exists(&folder));
            Some(found.ok_or_else(|| {
                let message = format!(
                    "there is no project in the shared repository `{}`",
                    folder.display()
                );
                let help = "create it with `unfurl init --as-shared-environment FOLDER`".to_owned();
                Failure::new(FailureKind::Refused, message, Some(help))
            })?)
        }
        None => project_of_environment(request, project)?,
    };
    Ok(found.filter(|found| Some(&**found) != project))
}

/// Returns the project that an environment of the project or of the home project names.
fn project_of_environment(
    request: &InitRequest,
    project: Option<&Path>,
) -> Result<Option<PathBuf>, Failure> {
    let Some(environment) = request.environment.as_deref() else {
        return Ok(None);
    };
    let home = home_of(request)?.map(|(folder, _)| folder);
    let mut projects = Vec::new();
    for folder in [project.map(Path::to_owned), home].into_iter().flatten() {
        projects.push(load(&folder)?);
    }
    for project in &projects {
        let settings = project.environments.resolve(Some(environment), None);
        let name = settings.section("defaultProject").and_then(Node::as_str);
        match name {
            None => {}
            Some(SELF) => return Ok(Some(project.root.clone())),
            Some(name) => {
                let found = projects.iter().find_map(|known| known.projects.get(name));
                let found = found.filter(|folder| fs::is_dir(folder)).ok_or_else(|| {
                    let message = format!("the project `{name}` of the environment `{environment}` is not on this computer");
                    let help = "clone it, and register it with `unfurl home --register FOLDER`".to_owned();
                    Failure::new(FailureKind::Refused, message, Some(help))
                })?;
                return Ok(Some(fs::canonicalize(found)?));
            }
        }
    }
    Ok(None)
}

/// Whether a project or the home project declares an environment.
pub(super) fn is_declared(
    request: &InitRequest,
    project: &Path,
    environment: &str,
) -> Result<bool, Failure> {
    let home = home_of(request)?.map(|(folder, _)| folder);
    for folder in [Some(project.to_owned()), home].into_iter().flatten() {
        if load(&folder)?.environments.contains(environment) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the settings of an environment without settings.
pub(super) fn empty_environment() -> Map {
    [("variables".into(), Value::from(Map::new()))]
        .into_iter()
        .collect()
}

fn load(folder: &Path) -> Result<Project, Failure> {
    let mut sources = Sources::default();
    let env = Env::of_this_process();
    let limits = Limits::default();
    let mut loader = FileLoader::new(&mut sources, &env, limits);
    let loaded = Project::load(&folder.join(PROJECT_FILE), &mut loader, &limits);
    drop(loader);
    loaded.map_err(|error| Failure::with_sources(FailureKind::Load, error, sources))
}

/// Creates the ensemble of a project in a shared project, and lists each of them in the other one.
pub(super) fn create_in_shared(
    request: &InitRequest,
    project: &Path,
    shared: &Path,
    model: EnsembleModel,
) -> Result<InitReport, Failure> {
    let named = match project.parent() {
        Some(parent) if project.ends_with(PROJECT_FOLDER) => parent,
        _ => project,
    };
    let name = PathBuf::from(named.file_name().unwrap_or_default());
    let shared_file = shared.join(PROJECT_FILE);
    let own_file = project.join(PROJECT_FILE);
    let folder = unused_folder(shared, name);
    let known = Project {
        root: project.to_owned(),
        ..Project::default()
    };
    let new = NewEnsemble {
        project: shared.to_owned(),
        folder: folder.clone(),
        model,
    };
    let request = InitRequest {
        layout: Layout::Mono,
        managed_by: Some(unused_project_name(&shared_file, &known.name(), "")?),
        ..request.clone()
    };
    let mut changed = register_in(&shared_file, project, None)?;
    let mut report = create_ensemble(&request, &new)?;
    changed.extend(register_in(&own_file, shared, None)?);
    let shared_project = Project {
        root: shared.to_owned(),
        ..Project::default()
    };
    let entry = NewEntry {
        project: Some(shared_project.name()),
        ..entry_of(&folder, request.environment.as_deref())
    };
    changed.push(register_ensemble(&own_file, &entry, Registration::Local)?);
    for path in changed {
        report.add_change(path, "connects the project with the shared one");
    }
    Ok(report)
}
