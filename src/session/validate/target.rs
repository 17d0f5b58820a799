//! Determines the kind of a path to validate: ensemble, project, service template or CSAR.

use std::path::{Path, PathBuf};

use crate::project::{Csar, FileLoader, MANIFEST, PROJECT_FILE, PROJECT_FOLDER};
use crate::system::fs;
use crate::yaml::Node;

/// The file name extensions of archives.
const ARCHIVES: [&str; 5] = ["csar", "zip", "tar", "tgz", "gz"];

/// The kind of object that a path names, for validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValidationTarget {
    /// An ensemble, given by its file or by a name to search for.
    Ensemble,
    Project(PathBuf),
    /// The main file of a service template.
    ServiceTemplate(PathBuf),
    Csar(Csar),
}

/// Determines the kind of a path, by its name if possible, or else by its content.
pub(super) fn find_target(
    argument: &str,
    cwd: &Path,
    loader: &mut FileLoader<'_>,
) -> ValidationTarget {
    let path = fs::absolute(Path::new(argument), cwd);
    if argument.is_empty() || !fs::exists(&path) {
        return ValidationTarget::Ensemble;
    }
    if fs::is_dir(&path) {
        return folder(path, loader);
    }
    match path.file_name().and_then(|name| name.to_str()) {
        Some(PROJECT_FILE) => return ValidationTarget::Project(path),
        Some(MANIFEST) => return ValidationTarget::Ensemble,
        _ => {}
    }
    let end = path.extension().unwrap_or_default();
    if end == "py" {
        return ValidationTarget::ServiceTemplate(path);
    }
    if ARCHIVES.iter().any(|known| end == *known) {
        let (root, archive) = (path, true);
        return ValidationTarget::Csar(Csar { root, archive });
    }
    let Ok((_, root)) = loader.read(&path, None) else {
        // The reader of service templates reports why the file cannot be read.
        return ValidationTarget::ServiceTemplate(path);
    };
    match root.get("kind").and_then(Node::as_str) {
        Some("Project") => ValidationTarget::Project(path),
        Some(_) => ValidationTarget::Ensemble,
        None if is_manifest(&root) => ValidationTarget::Ensemble,
        None => ValidationTarget::ServiceTemplate(path),
    }
}

/// Determines the kind of a folder: an ensemble, a project or an unpacked CSAR.
fn folder(path: PathBuf, loader: &FileLoader<'_>) -> ValidationTarget {
    let has = |name: &str| fs::exists(&path.join(name));
    if has(MANIFEST) {
        return ValidationTarget::Ensemble;
    }
    for file in [
        path.join(PROJECT_FILE),
        path.join(PROJECT_FOLDER).join(PROJECT_FILE),
    ] {
        if fs::is_file(&file) {
            return ValidationTarget::Project(file);
        }
    }
    let described = has("TOSCA-Metadata") || has("TOSCA.meta");
    if described || !loader.files_in(&path).is_empty() {
        let (root, archive) = (path, false);
        return ValidationTarget::Csar(Csar { root, archive });
    }
    ValidationTarget::Ensemble
}

/// Whether the root has keys that only a manifest has.
fn is_manifest(root: &Node) -> bool {
    let own = ["apiVersion", "spec", "status", "environment"];
    let is_template = root.get("tosca_definitions_version").is_some();
    !is_template && own.iter().any(|key| root.get(key).is_some())
}
