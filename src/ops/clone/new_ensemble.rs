//! Creates the ensemble of a clone.

use std::path::{Path, PathBuf};

use super::fork::forked;
use super::model::Model;
use super::request::CloneOptions;
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::init::{EnsembleModel, NewEnsemble, create_ensemble};
use crate::project::MANIFEST;
use crate::skeleton::NewFile;
use crate::system::{clock, fs};

/// The folder of an ensemble for which the user names none.
const FOLDER: &str = "ensemble";

/// Creates an ensemble in a project and returns its folder, with notes for the user.
///
/// `inside` is the folder relative to the project. An empty one stands for a name that is free.
pub(super) fn create(
    options: &CloneOptions,
    project: &Path,
    inside: &Path,
    model: Model,
) -> Result<(PathBuf, Vec<String>), Failure> {
    let is_named = !inside.as_os_str().is_empty();
    let (folder, manifest) = match inside.extension() {
        Some(end) if end == "yaml" || end == "yml" => {
            (fs::parent_of(inside).to_owned(), inside.file_name())
        }
        _ => (inside.to_owned(), None),
    };
    let folder = if is_named {
        folder
    } else {
        free_folder(project)
    };
    let manifest = manifest.map_or_else(|| PathBuf::from(MANIFEST), PathBuf::from);
    let mut notes = Vec::new();
    let target = project.join(&folder);
    let is_filled = fs::is_symlink(&target)
        || (fs::exists(&target) && !(fs::is_dir(&target) && fs::list(&target)?.is_empty()));
    if is_filled && options.overwrite {
        let aside = move_aside(&target)?;
        notes.push(format!(
            "`{}` was moved to `{}`",
            target.display(),
            aside.display()
        ));
    } else if is_filled {
        let message = format!("`{}` exists and is not empty", target.display());
        let help = "name another folder; `--overwrite` moves this one aside".to_owned();
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    }
    let model = match model {
        Model::Template(model) => model,
        Model::Ensemble(source) => {
            refuse_options_for_fork(options)?;
            EnsembleModel::Files(vec![NewFile {
                path: manifest,
                text: forked(&source)?,
                purpose: "the new ensemble, with the model of the other one",
                is_secret: false,
            }])
        }
    };
    let new = NewEnsemble {
        project: project.to_owned(),
        folder: folder.clone(),
        model,
    };
    let made = create_ensemble(&options.init, &new)?;
    notes.extend(made.notes);
    if let Some((reason, _)) = made.uncommitted {
        notes.push(format!("the ensemble is not committed, because {reason}"));
    }
    Ok((project.join(folder), notes))
}

fn refuse_options_for_fork(options: &CloneOptions) -> Result<(), Failure> {
    if options.init.deployment_blueprint.is_none() {
        return Ok(());
    }
    let message =
        "`--use-deployment-blueprint` needs a template as the source, and this is an ensemble";
    Err(Failure::usage_with(
        message,
        "name the template, or set `deployment_blueprint` in the environment",
    ))
}

/// Returns a folder for an ensemble that does not exist yet.
fn free_folder(project: &Path) -> PathBuf {
    let names = std::iter::once(FOLDER.to_owned())
        .chain((1..).map(|number: u32| format!("{FOLDER}{number}")));
    let mut folders = names.map(PathBuf::from);
    let is_free = |folder: &PathBuf| {
        !fs::exists(&project.join(folder)) && !fs::is_symlink(&project.join(folder))
    };
    folders.find(is_free).unwrap_or_default()
}

/// Gives a folder another name, so that nothing in it is lost.
pub(super) fn move_aside(folder: &Path) -> Result<PathBuf, Failure> {
    let name = folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let time = clock::now().strftime("%Y%m%d-%H%M%S");
    let aside = folder.with_file_name(format!("{name}.old-{time}"));
    if fs::exists(&aside) || fs::is_symlink(&aside) {
        let message = format!("`{}` exists already", aside.display());
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some("try again".to_owned()),
        ));
    }
    fs::rename(folder, &aside)?;
    Ok(aside)
}
