//! Finds what an ensemble is made from: a template, or another ensemble.

use std::path::{Path, PathBuf};

use crate::ops::failure::{Failure, FailureKind};
use crate::ops::init::EnsembleModel;
use crate::project::{MANIFEST, PROJECT_FILE, PROJECT_FOLDER};
use crate::session::{self, SessionOptions};
use crate::system::fs;
use crate::yaml::{self, Node, Schema};

/// The names of templates in a folder, in the order in which they are looked for.
const ENSEMBLE_TEMPLATE: &str = "ensemble-template.yaml";
const SERVICE_TEMPLATES: [&str; 2] = ["service_template.yaml", "service_template.py"];
/// The folders in which a project has its first ensemble.
const FIRST_ENSEMBLES: [&str; 2] = ["ensemble", ""];

/// The source of a new ensemble.
#[derive(Debug, Clone)]
pub(super) enum Model {
    Template(EnsembleModel),
    /// The manifest of another ensemble.
    Ensemble(PathBuf),
}

/// Finds what is at a path in a project; `None` if there is neither a template nor an ensemble.
pub(super) fn model_at(
    path: &Path,
    project: &Path,
    options: &SessionOptions,
) -> Result<Option<Model>, Failure> {
    let is_project_file = path.file_name().is_some_and(|name| name == PROJECT_FILE);
    if fs::is_file(path) && !is_project_file {
        return model_of_file(path).map(Some);
    }
    let folder = if is_project_file {
        fs::parent_of(path)
    } else {
        path
    };
    for folder in [folder.join(PROJECT_FOLDER), folder.to_owned()] {
        let template = folder.join(ENSEMBLE_TEMPLATE);
        if fs::is_file(&template) {
            return Ok(Some(Model::Template(EnsembleModel::EnsembleTemplate(
                template,
            ))));
        }
        let mut services = SERVICE_TEMPLATES.iter().map(|name| folder.join(name));
        if let Some(template) = services.find(|path| fs::is_file(path)) {
            return Ok(Some(Model::Template(EnsembleModel::ServiceTemplate(
                template,
            ))));
        }
    }
    let manifest = folder.join(MANIFEST);
    if fs::is_file(&manifest) {
        return Ok(Some(Model::Ensemble(manifest)));
    }
    if folder != project && fs::parent_of(project) != folder {
        return Ok(None);
    }
    let options = SessionOptions {
        ensemble: folder.display().to_string(),
        ..options.clone()
    };
    let found = session::find(&options).ok();
    Ok(found.map(|found| Model::Ensemble(found.located.manifest)))
}

fn model_of_file(path: &Path) -> Result<Model, Failure> {
    let refused = |reason: &str| {
        let message = format!("`{}` {reason}", path.display());
        let help = "give an `ensemble.yaml`, an ensemble template, a service template, or the folder of one";
        Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
    };
    if path.extension().is_some_and(|end| end == "py") {
        return Ok(Model::Template(EnsembleModel::ServiceTemplate(
            path.to_owned(),
        )));
    }
    let text = fs::read_to_string(path)?;
    let root = yaml::parse_text(Schema::Core, &text)
        .map_err(|problem| refused(&format!("is not valid YAML: {problem}")))?;
    let kind = root.get("kind").and_then(Node::as_str);
    if matches!(kind, Some("Ensemble" | "Manifest")) {
        return Ok(Model::Ensemble(path.to_owned()));
    }
    if root.get("tosca_definitions_version").is_some() {
        return Ok(Model::Template(EnsembleModel::ServiceTemplate(
            path.to_owned(),
        )));
    }
    if root.get("spec").is_some() {
        return Ok(Model::Template(EnsembleModel::EnsembleTemplate(
            path.to_owned(),
        )));
    }
    Err(refused("is neither an ensemble nor a template"))
}

/// Whether a project contains ensembles.
pub(super) fn has_ensembles(project: &Path, options: &SessionOptions) -> bool {
    let has_first = FIRST_ENSEMBLES
        .iter()
        .any(|name| fs::is_file(&project.join(name).join(MANIFEST)));
    let options = SessionOptions {
        ensemble: project.display().to_string(),
        ..options.clone()
    };
    has_first || session::find(&options).is_ok()
}
