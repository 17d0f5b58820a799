//! Finds out where differences come from: the job, task, commit and person that last set a value, and the failed job
//! that left a difference.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::drift::{DriftKind, DriftState, Finding, LastSet};
use crate::ensemble::{JobTrace, JobTraces};
use crate::git::Repository;
use crate::name::{ChangeId, InstanceName};
use crate::topology::Topology;

/// The records about an instance with findings.
struct Instance {
    key: String,
    /// The last change that the manifest has. That of a check counts only if nothing else is known.
    last_change: Option<ChangeId>,
}

/// Adds the last setters of values, and the failed jobs that left differences.
///
/// The job log is read once and the log of git is walked once for all findings.
pub(super) fn add_origins(
    findings: &mut [Finding],
    state: &DriftState,
    topology: &Topology,
    manifest: &Path,
    folder: &Path,
) {
    let mut wanted: HashSet<InstanceName> = HashSet::new();
    for finding in findings.iter().filter(|finding| has_origin(finding)) {
        wanted.extend(finding.subject.instance.clone());
    }
    let instances = instances(topology, &wanted);
    if instances.is_empty() {
        return;
    }
    let traces = JobTraces::read(manifest, folder);
    let setters = last_setters(findings, &instances, &traces);
    add_last_set(findings, &setters, &traces, folder);
    let keys = instances.values().map(|it| it.key.clone()).collect();
    let unfinished = traces.unfinished(&keys);
    for finding in findings.iter_mut().filter(|finding| has_origin(finding)) {
        let name = finding.subject.instance.as_ref();
        let instance = name.and_then(|name| instances.get(name));
        let job = instance.and_then(|it| unfinished.get(&it.key));
        let start = job.and_then(|job| traces.start_of(*job));
        let has_left = start.is_some_and(|start| appeared_after(start, finding, state));
        if let Some(job) = job.filter(|_| has_left) {
            finding.left_by = Some(job.as_str().into());
        }
    }
}

/// Returns true if a finding is about a value that a job may have set.
fn has_origin(finding: &Finding) -> bool {
    matches!(finding.kind, DriftKind::Outside | DriftKind::Pending)
}

fn instances(
    topology: &Topology,
    wanted: &HashSet<InstanceName>,
) -> HashMap<InstanceName, Instance> {
    if wanted.is_empty() {
        return HashMap::new();
    }
    let nodes = topology.nodes().into_iter();
    let found = nodes.filter_map(|handle| {
        let entity = topology.entity(handle);
        let instance = || Instance {
            key: topology.unique_key(handle),
            last_change: entity.last_config_change,
        };
        wanted
            .contains(&entity.name)
            .then(|| (entity.name.clone(), instance()))
    });
    found.collect()
}

/// Returns the last setter of each finding: the task that put the attribute, or the one that last configured the
/// instance.
fn last_setters(
    findings: &[Finding],
    instances: &HashMap<InstanceName, Instance>,
    traces: &JobTraces,
) -> Vec<Option<ChangeId>> {
    let instance_of = |finding: &Finding| instances.get(finding.subject.instance.as_ref()?);
    let key_of = |finding: &Finding| {
        let instance = instance_of(finding)?;
        Some(format!("{}::{}", instance.key, finding.subject.attribute))
    };
    let keys: HashSet<String> = findings.iter().filter_map(key_of).collect();
    let setters = traces.setters(&keys);
    let owners = instances.values().map(|it| it.key.clone()).collect();
    let made = traces.last_tasks(&owners);
    let setter = |finding: &Finding| {
        let own = key_of(finding).and_then(|key| setters.get(&key).copied());
        let instance = || instance_of(finding);
        own.or_else(|| made.get(&instance()?.key)?.made)
            .or_else(|| instance()?.last_change)
    };
    findings
        .iter()
        .map(|finding| setter(finding).filter(|_| has_origin(finding)))
        .collect()
}

fn add_last_set(
    findings: &mut [Finding],
    setters: &[Option<ChangeId>],
    traces: &JobTraces,
    folder: &Path,
) {
    let mut jobs: HashMap<ChangeId, JobTrace> = HashMap::new();
    for task in setters.iter().flatten() {
        if let Some(trace) = traces.job_of(*task) {
            jobs.insert(*task, trace);
        }
    }
    let files: HashSet<PathBuf> = jobs.values().filter_map(|it| it.file.clone()).collect();
    let files: Vec<PathBuf> = files.into_iter().collect();
    let repository = Repository::discover(folder).ok().flatten();
    let repository = repository.filter(|_| !files.is_empty());
    let commits = repository.map(|it| it.introductions(&files));
    let commits = commits.unwrap_or_default();
    for (finding, task) in findings.iter_mut().zip(setters) {
        let Some(task) = task else {
            continue;
        };
        let trace = jobs.get(task);
        let file = trace.and_then(|trace| trace.file.as_ref());
        let commit = file.and_then(|file| commits.get(file));
        finding.last_set = Some(LastSet {
            job: trace.map_or(task.as_str(), |it| it.job.as_str()).into(),
            task: Some(task.as_str().into()),
            commit: commit.map(|it| it.commit.as_str().into()),
            person: commit.map(|it| it.author.as_str().into()),
            time: task.time(),
        });
    }
}

/// Returns true if a difference was first seen after the start of a job, and nobody had looked in between.
fn appeared_after(start: Timestamp, finding: &Finding, state: &DriftState) -> bool {
    let Some(sightings) = &finding.sightings else {
        return false;
    };
    let last_look = state.last_look_before(sightings.since, &finding.subject);
    start < sightings.since && last_look.is_none_or(|look| look < start)
}
