//! Creates the ensemble of a project in a shared repository, which another project has.

use std::path::{Path, PathBuf};

use super::environments::project_of_environment;
use super::model::{entry_of, unused_folder};
use super::registration::{project_around, register_in};
use super::report::InitReport;
use super::request::{InitRequest, Layout};
use super::target;
use super::{EnsembleModel, NewEnsemble, create_ensemble};
use crate::ops::failure::{Failure, FailureKind};
use crate::project::{
    NewEntry, PROJECT_FILE, PROJECT_FOLDER, Project, Registration, register_ensemble,
    unused_project_name,
};
use crate::system::fs;

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
