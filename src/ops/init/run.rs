//! Decides what `unfurl init` creates: a project, an ensemble in a project, or a copy of an example.

use std::path::{Path, PathBuf};

use super::copied::create_copy;
use super::ensemble::{create_ensemble, ensemble_of_project};
use super::new_project::create_project;
use super::report::InitReport;
use super::request::{InitRequest, InitSource};
use super::target;
use crate::ops::failure::Failure;
use crate::project::{PROJECT_FOLDER, enclosing_project};

/// Creates a project, or an ensemble if the folder is in a project.
pub fn init(request: &InitRequest) -> Result<InitReport, Failure> {
    let folder = target::absolute(&request.folder)?;
    let is_copy = matches!(request.source, InitSource::Example(_) | InitSource::Bare);
    if let Some(project) = project_around(&folder) {
        if is_copy {
            return create_copy(request, &folder, Some(&project));
        }
        return create_ensemble(request, &ensemble_of_project(request, &folder, &project)?);
    }
    let folder = match request.folder.is_empty() && request.existing {
        true => folder.join(PROJECT_FOLDER),
        false => folder,
    };
    target::check_is_free(&folder)?;
    if is_copy {
        return create_copy(request, &folder, None);
    }
    if request.deployment_blueprint.is_some() {
        let message = "`--use-deployment-blueprint` needs a project that has blueprints";
        let help = "create the project first, then an ensemble in it: `unfurl init PROJECT NAME`";
        return Err(Failure::usage_with(message, help));
    }
    create_project(request, &folder)
}

/// Returns the folder with the project file of the project around a folder.
pub(in crate::ops) fn project_around(folder: &Path) -> Option<PathBuf> {
    let found = enclosing_project(folder, None)?;
    let inner = found.join(PROJECT_FOLDER);
    let has_file = crate::system::fs::is_file(&found.join(crate::project::PROJECT_FILE));
    Some(if has_file { found } else { inner })
}
