//! Finds out what a path names: an ensemble, a project or a service template.

use std::path::{Path, PathBuf};

use crate::project::FileLoader;
use crate::system::fs;
use crate::yaml::Node;

/// What is to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// An ensemble, by its file, or to be found by the name given.
    Ensemble,
    /// A project's file.
    Project(PathBuf),
    /// A file that begins a service template.
    ServiceTemplate(PathBuf),
}

/// Tells what a path names, by its name where that is enough, else by its content.
pub(super) fn subject(argument: &str, cwd: &Path, loader: &mut FileLoader<'_>) -> Subject {
    let path = fs::absolute(Path::new(argument), cwd);
    if argument.is_empty() || !fs::is_file(&path) {
        return Subject::Ensemble;
    }
    match path.file_name().and_then(|name| name.to_str()) {
        Some("unfurl.yaml") => return Subject::Project(path),
        Some("ensemble.yaml") => return Subject::Ensemble,
        _ => {}
    }
    let Ok((_, root)) = loader.read(&path, None) else {
        // Whatever it is, the reader of service templates says why it cannot be read.
        return Subject::ServiceTemplate(path);
    };
    match root.get("kind").and_then(Node::as_str) {
        Some("Project") => Subject::Project(path),
        Some(_) => Subject::Ensemble,
        None if is_manifest(&root) => Subject::Ensemble,
        None => Subject::ServiceTemplate(path),
    }
}

/// Whether it has what an ensemble has and a service template has not.
fn is_manifest(root: &Node) -> bool {
    let own = ["apiVersion", "spec", "status", "environment"];
    let is_template = root.get("tosca_definitions_version").is_some();
    !is_template && own.iter().any(|key| root.get(key).is_some())
}
