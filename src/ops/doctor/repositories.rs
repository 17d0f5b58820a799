//! Checks that the repositories that the ensemble uses are on this machine.

use std::collections::BTreeSet;

use super::check::{Check, DoctorReport};
use super::subject::{LoadedEnsemble, Subject, quoted};
use crate::project::folder_of_clone;
use crate::system::fs;
use crate::text::{quote_word, without_logins};
use crate::yaml::Node;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let Some(loaded) = subject.ensemble() else {
        return;
    };
    let session = &loaded.session;
    let base = session.manifest.base_dir();
    let used = used_names(loaded);
    let environment = session.environment.repositories().and_then(Node::as_map);
    let environment = environment.into_iter().flatten();
    let environment = environment.map(|(name, entry)| (name, &entry.value));
    for (name, node) in environment.chain(&session.service.repositories) {
        let url = node.as_str().or_else(|| node.get("url")?.as_str());
        let Some(url) = url.filter(|_| used.contains(&**name)) else {
            continue;
        };
        let path = url.split('#').next().unwrap_or(url);
        let local = path.strip_prefix("file:");
        let folder = match local {
            Some(path) => Some(fs::absolute(path.trim_start_matches("//").as_ref(), base)),
            None => folder_of_clone(url, base, Some(&session.project)),
        };
        let is_there = folder.as_deref().is_some_and(fs::is_dir);
        let is_cloned = fs::is_dir(&session.project.join("tosca_repositories").join(&**name));
        if is_there || is_cloned || !path.contains("://") {
            continue;
        }
        let shown = without_logins(path);
        let message = format!("the repository `{name}` (`{shown}`) is not on this machine");
        let to = folder.unwrap_or_else(|| session.project.join("tosca_repositories").join(&**name));
        let fix = format!("git clone {} {}", quote_word(&shown), quoted(&to));
        let mut check = Check::warning("repository", "repositories", message).fix(fix);
        check.place = session.sources.position(node.span());
        report.push(check);
    }
}

/// Returns the names of the repositories that contain artifacts of the model.
fn used_names(loaded: &LoadedEnsemble) -> BTreeSet<&str> {
    let nodes = loaded.session.service.topology.nodes.values();
    let artifacts = nodes.flat_map(|node| node.artifacts.values());
    artifacts
        .filter_map(|artifact| artifact.repository.as_deref())
        .collect()
}
