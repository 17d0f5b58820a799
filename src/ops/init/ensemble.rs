//! Creates an ensemble in an existing project.

use std::path::{Path, PathBuf};

use super::age::policy_like;
use super::environments::{empty_environment, is_declared};
use super::model::{
    ENSEMBLE_TEMPLATE, EnsembleModel, FIRST_ENSEMBLE, NewEnsemble, SERVICE_TEMPLATE, entry_of,
    unused_folder, way_out,
};
use super::new_repository::NewRepository;
use super::outside::OuterRepository;
use super::recipe::{ENSEMBLE_MESSAGE, Recipe};
use super::report::{InitReport, Made};
use super::request::{InitRequest, Layout, SecretsChoice};
use super::staging::{Staging, write_files};
use super::target;
use crate::git::Repository;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::{
    MANIFEST, NewEntry, PROJECT_FILE, Registration, add_environment, register_ensemble,
};
use crate::skeleton::{EnsembleFile, NewFile, TemplateInclude, render_ensemble};
use crate::system::fs;

/// Decides which ensemble `unfurl init` creates in a project.
pub(super) fn ensemble_of_project(
    request: &InitRequest,
    folder: &Path,
    project: &Path,
) -> Result<NewEnsemble, Failure> {
    let inside = folder.strip_prefix(project).ok();
    let inside = inside.filter(|inside| !inside.as_os_str().is_empty());
    let wanted = match (&request.ensemble, inside) {
        (Some(name), inside) => {
            let name = target::ensemble_folder(name)?;
            inside.map_or(name.clone(), |inside| inside.join(name))
        }
        (None, Some(inside)) => target::ensemble_folder(&inside.to_string_lossy())?,
        (None, None) => PathBuf::from(FIRST_ENSEMBLE),
    };
    let models = [
        (
            ENSEMBLE_TEMPLATE,
            EnsembleModel::EnsembleTemplate as fn(PathBuf) -> EnsembleModel,
        ),
        (SERVICE_TEMPLATE, EnsembleModel::ServiceTemplate),
    ];
    let model = models.into_iter().find_map(|(name, model)| {
        let path = project.join(name);
        fs::is_file(&path).then(|| model(path))
    });
    let Some(model) = model else {
        let message = format!(
            "the project `{}` has neither `{ENSEMBLE_TEMPLATE}` nor `{SERVICE_TEMPLATE}`, from which an ensemble \
             could be created",
            project.display()
        );
        let help = "write one of them, or copy an example: `unfurl init --template hello`";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(help.to_owned()),
        ));
    };
    Ok(NewEnsemble {
        folder: unused_folder(project, wanted),
        project: project.to_owned(),
        model,
    })
}

/// Creates an ensemble in a project: builds its folder, publishes and registers it, and commits.
pub fn create_ensemble(request: &InitRequest, new: &NewEnsemble) -> Result<InitReport, Failure> {
    let recipe = Recipe::of(request)?;
    let final_folder = new.project.join(&new.folder);
    let outer = OuterRepository::of(&new.project)?;
    let is_shared = request.layout == Layout::Mono || request.existing;
    let around = outer.reopen()?.map(NewRepository::existing);
    refuse_submodule(request)?;
    fs::Beneath::open(&new.project)?.refuse_link(&new.folder)?;
    let staging = Staging::begin(&final_folder)?;
    let folder = staging.folder();
    let (mut own, mut files) = if is_shared {
        (None, Vec::new())
    } else {
        let policy = match request.secrets {
            Some(SecretsChoice::Vault) => None,
            _ => policy_like(&new.project)?,
        };
        let (own, files) = recipe.ensemble_repository(folder, true, policy)?;
        (Some(own), files)
    };
    let uri = match &own {
        Some(own) => own.url_of(&folder.join(MANIFEST)),
        None => around
            .as_ref()
            .and_then(|around| around.url_of(&final_folder.join(MANIFEST))),
    };
    let model = recipe.model_files(new, uri.as_deref())?;
    write_files(folder, &model)?;
    files.extend(model);
    if let Some(own) = own.as_mut().filter(|_| !request.render) {
        own.commit_all(folder, ENSEMBLE_MESSAGE)?;
    }
    staging.publish()?;
    let mut report = InitReport::new(
        Made::Ensemble(final_folder.clone()),
        final_folder.clone(),
        "unfurl deploy",
    );
    report.notes.extend(recipe.notes);
    report.add_files(&files, &final_folder);
    let changed = register(request, new, is_shared, &mut report)?;
    match &own {
        Some(own) => {
            outer.exclude(&final_folder, &mut report)?;
            report.add_repository(own, &final_folder);
        }
        None => commit_in_project(request, around, &final_folder, &changed, &mut report)?,
    }
    Ok(report)
}

/// Lists the ensemble in its project. Returns the file that lists it.
fn register(
    request: &InitRequest,
    new: &NewEnsemble,
    is_shared: bool,
    report: &mut InitReport,
) -> Result<PathBuf, Failure> {
    let registration = if is_shared {
        Registration::Shared
    } else {
        Registration::Local
    };
    let entry = NewEntry {
        managed_by: request.managed_by.clone(),
        ..entry_of(&new.folder, request.environment.as_deref())
    };
    let changed = register_ensemble(&new.project.join(PROJECT_FILE), &entry, registration)?;
    report.add_change(changed.clone(), "lists the new ensemble");
    declare_environment(request, &new.project, report)?;
    Ok(changed)
}

/// Declares the environment of a new ensemble, if neither the project nor the home project has it.
fn declare_environment(
    request: &InitRequest,
    project: &Path,
    report: &mut InitReport,
) -> Result<(), Failure> {
    let Some(name) = request.environment.as_deref() else {
        return Ok(());
    };
    let file = project.join(PROJECT_FILE);
    if !is_declared(request, project, name)? && add_environment(&file, name, &empty_environment())?
    {
        report.add_change(file, "declares the environment of the ensemble");
    }
    Ok(())
}

/// Commits the ensemble and its registration in the repository of the project.
fn commit_in_project(
    request: &InitRequest,
    around: Option<NewRepository>,
    folder: &Path,
    registered: &Path,
    report: &mut InitReport,
) -> Result<(), Failure> {
    let Some(mut around) = around else {
        return Ok(());
    };
    if !request.render {
        around.commit_all(folder, ENSEMBLE_MESSAGE)?;
        if !around.repository.is_ignored(registered)? {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            let message = format!("Add ensemble at {name}/{MANIFEST}");
            around.commit(&[registered.to_owned()], &message)?;
        }
    }
    let root = around.repository.root().to_owned();
    report.add_repository(&around, &root);
    Ok(())
}

fn refuse_submodule(request: &InitRequest) -> Result<(), Failure> {
    if request.layout != Layout::Submodule {
        return Ok(());
    }
    let message = "`--submodule` works for new projects only";
    let help =
        "create the ensemble without it, then run `git submodule add ./FOLDER` in the project";
    Err(Failure::usage_with(message, help))
}

impl Recipe<'_> {
    /// Returns the files of the model, with the manifest.
    fn model_files(&self, new: &NewEnsemble, uri: Option<&str>) -> Result<Vec<NewFile>, Failure> {
        let path = match &new.model {
            EnsembleModel::Files(files) => return Ok(files.clone()),
            EnsembleModel::EnsembleTemplate(path) | EnsembleModel::ServiceTemplate(path) => path,
        };
        let folder = fs::parent_of(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let template = match new.model {
            EnsembleModel::ServiceTemplate(_) => TemplateInclude::Service(&name),
            _ => TemplateInclude::Ensemble(&name),
        };
        let url = Repository::discover(folder)?.and_then(|found| url_with_commit(found, folder));
        let relative = || match folder.strip_prefix(&new.project) {
            Ok(inside) => {
                let way = format!("{}/{}", way_out(&new.folder), inside.display());
                way.trim_end_matches('/').to_owned()
            }
            Err(_) => format!("file://{}", folder.display()),
        };
        let manifest = render_ensemble(
            &self.skeleton,
            &EnsembleFile {
                uri,
                spec_url: Some(&url.unwrap_or_else(relative)),
                template,
                deployment_blueprint: self.request.deployment_blueprint.as_deref(),
            },
            &self.variables,
        )?;
        Ok(vec![manifest])
    }
}

/// Returns the URL of a folder by the first commit of its repository, if the folder is committed.
fn url_with_commit(repository: Repository, folder: &Path) -> Option<String> {
    let is_committed = repository.has_folder(folder);
    NewRepository::existing(repository)
        .url_of(folder)
        .filter(|_| is_committed)
}
