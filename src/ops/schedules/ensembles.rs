//! The ensembles that a schedule names, and what is known about them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::state_folder::StateFolder;
use crate::ensemble::history::{History, Selection, history};
use crate::ensemble::parse_stamp;
use crate::project::Project;
use crate::schedule::{Candidate, ScheduleSpec};
use crate::system::fs;
use crate::text::{Glob, did_you_mean};

/// The number of jobs in which the last deployment is searched.
const MAX_JOBS: usize = 30;

/// An ensemble of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownEnsemble {
    pub(super) name: Arc<str>,
    /// The path as the project lists it.
    path: String,
    pub(super) manifest: PathBuf,
}

/// The ensembles that patterns match, and the patterns that match none.
#[derive(Debug, Clone, Default)]
pub(super) struct Matched {
    pub(super) ensembles: Vec<KnownEnsemble>,
    /// Each pattern without an ensemble, with a sentence about it.
    pub(super) unmatched: Vec<(Arc<str>, String)>,
}

/// Returns the project's own ensembles.
fn known(project: &Project) -> Vec<KnownEnsemble> {
    let own = project
        .ensembles
        .iter()
        .filter(|entry| entry.project.is_none());
    let mut known: Vec<KnownEnsemble> = Vec::new();
    for entry in own {
        let manifest = project.path_of(entry);
        let folder = Path::new(&entry.file).parent().and_then(Path::file_name);
        let folder = folder.and_then(|name| name.to_str());
        let name = entry.alias.as_deref().or(folder).unwrap_or(&entry.file);
        if !known.iter().any(|it| it.manifest == manifest) {
            known.push(KnownEnsemble {
                name: name.into(),
                path: entry.file.clone(),
                manifest,
            });
        }
    }
    if known.is_empty()
        && let Some(manifest) = project.fallback_manifest()
    {
        known.push(KnownEnsemble {
            name: "ensemble".into(),
            path: manifest.display().to_string(),
            manifest,
        });
    }
    known
}

/// Returns the ensembles that a schedule names.
pub(super) fn matching(spec: &ScheduleSpec, project: &Project) -> Matched {
    let known = known(project);
    let mut matched = Matched::default();
    for pattern in &spec.ensembles {
        let glob = Glob::new(pattern);
        let folder = |path: &str| Path::new(path).parent().map(Path::to_owned);
        let fits = |it: &&KnownEnsemble| {
            let folder = folder(&it.path).unwrap_or_default();
            glob.matches(&it.name)
                || glob.matches(&it.path)
                || glob.matches(&folder.display().to_string())
                || fs::absolute(Path::new(&**pattern), &project.root) == it.manifest
        };
        let before = matched.ensembles.len();
        let mut is_found = false;
        for ensemble in known.iter().filter(fits) {
            is_found = true;
            if !matched.ensembles[..before].contains(ensemble) {
                matched.ensembles.push(ensemble.clone());
            }
        }
        if !is_found {
            let names = || known.iter().map(|it| &*it.name);
            let hint = did_you_mean(pattern, names()).unwrap_or_else(|| {
                let names: Vec<_> = names().take(10).collect();
                if names.is_empty() {
                    "the project lists none".to_owned()
                } else {
                    format!("the project has `{}`", names.join("`, `"))
                }
            });
            let text = format!("no ensemble of the project matches `{pattern}`; {hint}");
            matched.unmatched.push((Arc::clone(pattern), text));
        }
    }
    matched
}

/// Returns what is known about ensembles, in their order.
pub(super) fn candidates(
    ensembles: &[KnownEnsemble],
    spec: &ScheduleSpec,
    state: &StateFolder,
) -> Vec<Candidate> {
    let checked = state.checked(&spec.name);
    let needs_jobs = spec.unless_deployed_within.is_some();
    let candidate = |ensemble: &KnownEnsemble| Candidate {
        checked: checked
            .get(&ensemble.manifest.display().to_string())
            .copied(),
        deployed: needs_jobs
            .then(|| last_deployment(&ensemble.manifest))
            .flatten(),
    };
    ensembles.iter().map(candidate).collect()
}

/// Returns the time of the last job that deployed an ensemble.
fn last_deployment(manifest: &Path) -> Option<Timestamp> {
    let selection = Selection {
        limit: Some(MAX_JOBS),
        ..Selection::default()
    };
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let Ok(History::Jobs { jobs, .. }) = history(manifest, folder, &selection) else {
        return None;
    };
    let is_deployment = |record: &crate::value::Value| {
        let workflow = record.as_map().and_then(|map| map.get("workflow"));
        workflow.is_none_or(|workflow| workflow.as_str() == Some("deploy"))
    };
    let job = jobs.iter().find(|job| is_deployment(&job.record))?;
    parse_stamp(job.start.as_deref()?)
}
