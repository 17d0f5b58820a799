//! The entry point of validation: selects the checks for the kind of path.

use std::path::Path;

use super::ensemble::{ValidationReport, ensemble, project, schedules_around};
use super::service::{csar, service_template};
use super::target::{ValidationTarget, find_target};
use crate::diagnostic::Sources;
use crate::project::{self, FileLoader, LocateRequest};
use crate::session;
use crate::session::LoadError;
use crate::session::SessionOptions;
use crate::system::env::Env;
use crate::system::fs;
use crate::yaml::Limits;

/// Validates what `options.ensemble` names: an ensemble, a project with its ensembles, a service template or
/// a CSAR. Returns one report for each ensemble or service template.
pub fn validate(options: &SessionOptions) -> Result<Vec<ValidationReport>, LoadError> {
    let cwd = session::current_dir()?;
    let env = Env::of_this_process();
    let mut sources = Sources::default();
    let mut loader = FileLoader::new(&mut sources, &env, Limits::default());
    add_named(
        &fs::absolute(Path::new(&options.ensemble), &cwd),
        &mut loader,
    );
    let found = find_target(&options.ensemble, &cwd, &mut loader);
    let path = match &found {
        ValidationTarget::Ensemble => {
            // Loading finishes an interrupted change of secrets first, and its report says so.
            let report = ensemble(options);
            let schedules = schedules_around(options, &env);
            return Ok(schedules.into_iter().chain([report]).collect());
        }
        ValidationTarget::Project(file) => return Ok(project(file, options, &env)),
        ValidationTarget::ServiceTemplate(path) => path,
        ValidationTarget::Csar(csar) => &csar.root,
    };
    let keys = project::keys_of_folder(
        path.parent().unwrap_or(&cwd),
        options.home.as_deref(),
        options.environment.as_deref(),
        &env,
    );
    loader.set_keys(keys);
    let problems = match (set_trust(options, &cwd, path, &mut loader), &found) {
        (Err(error), _) => error.into(),
        (Ok(()), ValidationTarget::Csar(found)) => csar(found, &mut loader, &env),
        (Ok(()), _) => service_template(path, &mut loader, &env),
    };
    // Freeing the parsed trees piece by piece takes long; the end of the process frees them at once.
    std::mem::forget(loader);
    Ok(vec![ValidationReport {
        problems,
        sources,
        topology: None,
    }])
}

/// Sets the permissions of a service template in the loader.
fn set_trust(
    options: &SessionOptions,
    cwd: &Path,
    path: &Path,
    loader: &mut FileLoader<'_>,
) -> Result<(), project::Error> {
    let request = LocateRequest {
        argument: &options.ensemble,
        cwd,
        search_root: None,
        home: options.home.as_deref(),
        use_environment: None,
        allowed: &options.allowed,
    };
    let folder = match path.parent() {
        Some(parent) if !fs::is_dir(path) => parent,
        _ => path,
    };
    let trust = project::trust_for_file(&request, folder, loader)?;
    loader.set_trust(&trust, folder);
    loader.set_predefined_repositories(folder, None);
    let search_root = Env::of_this_process();
    let search_root = search_root.non_empty("UNFURL_SEARCH_ROOT").map(Path::new);
    if let Some(project) = project::enclosing_project(folder, search_root) {
        loader.scope().add_folder(&project);
    }
    loader.scope().add_repository_of(path);
    Ok(())
}

/// Permits to read the file or folder that the user names.
fn add_named(path: &Path, loader: &mut FileLoader<'_>) {
    if fs::is_dir(path) {
        loader.scope().add_folder(path);
    } else {
        loader.scope().add_file(path);
    }
}
