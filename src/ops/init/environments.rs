//! The environments that a project and the home project declare.

use std::path::{Path, PathBuf};

use super::registration::home_of;
use super::request::InitRequest;
use crate::diagnostic::Sources;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::{FileLoader, PROJECT_FILE, Project};
use crate::system::env::Env;
use crate::system::fs;
use crate::value::{Map, Value};
use crate::yaml::{Limits, Node};

/// The value of `defaultProject` that means the project of the environment itself.
const SELF: &str = "SELF";

/// Returns the project that an environment of the project or of the home project names.
pub(super) fn project_of_environment(
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
    loader.tolerate_closed_values();
    let loaded = Project::load(&folder.join(PROJECT_FILE), &mut loader, &limits);
    drop(loader);
    loaded.map_err(|error| Failure::with_sources(FailureKind::Load, error, sources))
}
