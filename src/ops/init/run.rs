//! Decides what `unfurl init` creates: a project, an ensemble in a project, or a copy of an example.

use super::copied::create_copy;
use super::ensemble::{create_ensemble, ensemble_of_project};
use super::new_project::create_project;
use super::registration::project_around;
use super::report::InitReport;
use super::request::{InitRequest, InitSource};
use super::shared::{create_in_shared, shared_project};
use super::target;
use crate::ops::failure::Failure;
use crate::project::PROJECT_FOLDER;

/// Creates a project, or an ensemble if the folder is in a project.
pub fn init(request: &InitRequest) -> Result<InitReport, Failure> {
    let folder = target::absolute(&request.folder)?;
    let is_copy = matches!(request.source, InitSource::Example(_) | InitSource::Bare);
    if let Some(project) = project_around(&folder) {
        if is_copy {
            return create_copy(request, &folder, Some(&project));
        }
        let new = ensemble_of_project(request, &folder, &project)?;
        return match shared_project(request, Some(&project))? {
            Some(shared) => create_in_shared(request, &project, &shared, new.model),
            None => create_ensemble(request, &new),
        };
    }
    let folder = if request.folder.is_empty() && request.existing {
        folder.join(PROJECT_FOLDER)
    } else {
        folder
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
