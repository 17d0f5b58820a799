//! Determines the git repositories that belong to an ensemble.

use super::involved_repository::{InvolvedRepository, add, of_folders};
use super::read_scope::folder_of_repository;
use super::session::Session;
use crate::git::Error;
use crate::project::folder_of_clone;
use crate::yaml::Node;

/// Returns the repositories of the project and the ensemble, then the declared ones (environment, service
/// template) that exist locally. Folders outside of git are skipped.
pub(crate) fn involved_repositories(session: &Session) -> Result<Vec<InvolvedRepository>, Error> {
    let base = session.manifest.base_dir();
    let trust = &session.location.located.trust;
    let mut all = of_folders(&session.project, base, trust)?;
    let project = Some(session.project.as_path());
    let environment = session.environment.repositories().and_then(Node::as_map);
    let environment = environment
        .into_iter()
        .flatten()
        .map(|(name, entry)| (name, &entry.value));
    for (name, node) in environment.chain(&session.service.repositories) {
        let url = || node.as_str().or_else(|| node.get("url")?.as_str());
        let folder =
            folder_of_repository(node, base).or_else(|| folder_of_clone(url()?, base, project));
        if let Some(folder) = folder {
            add(&mut all, name, &folder, trust)?;
        }
    }
    for package in &session.packages {
        add(&mut all, &package.request.id, &package.clone, trust)?;
    }
    Ok(all)
}
