//! The model of a new ensemble, its folder and its entry in the project.

use std::path::{Path, PathBuf};

use crate::project::{MANIFEST, NewEntry};
use crate::skeleton::NewFile;
use crate::system::fs;

/// The folder of the first ensemble.
pub(super) const FIRST_ENSEMBLE: &str = "ensemble";
/// The names of files with a model from which a new ensemble is made.
pub(super) const ENSEMBLE_TEMPLATE: &str = "ensemble-template.yaml";
pub(super) const SERVICE_TEMPLATE: &str = "service_template.yaml";

/// The model of a new ensemble.
#[derive(Debug, Clone)]
pub enum EnsembleModel {
    /// The manifest includes an ensemble template.
    EnsembleTemplate(PathBuf),
    /// The manifest includes a TOSCA service template.
    ServiceTemplate(PathBuf),
    /// The files are complete.
    Files(Vec<NewFile>),
}

/// An ensemble that is to be created in a project.
#[derive(Debug, Clone)]
pub struct NewEnsemble {
    /// The folder with the project file.
    pub project: PathBuf,
    /// The folder of the ensemble, relative to the project.
    pub folder: PathBuf,
    pub model: EnsembleModel,
}

/// Returns the folder, or one with a number if it exists.
pub(super) fn unused_folder(project: &Path, wanted: PathBuf) -> PathBuf {
    let is_free = |folder: &PathBuf| {
        let path = project.join(folder);
        !fs::exists(&path) && !fs::is_symlink(&path)
    };
    if is_free(&wanted) {
        return wanted;
    }
    let name = wanted
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut numbered = (1..).map(|number: u32| wanted.with_file_name(format!("{name}{number}")));
    numbered.find(is_free).unwrap_or(wanted)
}

/// Returns the entry of a project for an ensemble in a folder.
pub(super) fn entry_of(folder: &Path, environment: Option<&str>) -> NewEntry {
    let name = folder.file_name().unwrap_or_default();
    NewEntry {
        file: folder.join(MANIFEST).display().to_string(),
        alias: name.to_string_lossy().into_owned(),
        default: true,
        environment: environment.map(str::to_owned),
        ..NewEntry::default()
    }
}

/// Returns the URL of the project's folder, relative to that of an ensemble in it.
pub(super) fn way_out(folder: &Path) -> String {
    let ups = vec![".."; folder.components().count()];
    format!("file:{}", ups.join("/"))
}
