//! Adds the history to an answer: first and last sighting, the job that set a value, and the differences from the last
//! answer. Saves the answer in the drift record.

use std::path::{Path, PathBuf};

use super::origin::add_origins;
use crate::drift::{self, AnswerScope, DRIFT_FILE, DriftAnswer, DriftRecord, DriftState};
use crate::ensemble::{read_drift_record, write_drift_record};
use crate::name::InstanceName;
use crate::ops::failure::Failure;
use crate::ops::frontend::JobFrontend;
use crate::plan::{JobGoal, exclusion_reason};
use crate::project::DEFAULT_ENVIRONMENT;
use crate::session::Session;
use crate::system::fs;
use crate::topology::Topology;

/// An answer that was compared with the record, which is ready to be saved.
#[derive(Debug)]
pub(super) struct Compared {
    manifest: PathBuf,
    record: DriftRecord,
    scope: AnswerScope,
}

/// Adds what the records know about the findings of an answer.
///
/// A record that cannot be read is a message, and the answer is neither compared nor saved: nothing may be written over
/// the record then.
pub(super) fn compare(
    answer: &mut DriftAnswer,
    session: &mut Session,
    goal: &JobGoal,
    view: &mut dyn JobFrontend,
) -> Result<Option<Compared>, Failure> {
    if answer.problem.is_some() {
        return Ok(None);
    }
    let manifest = session.manifest.path().to_owned();
    let record = match read_drift_record(&manifest) {
        Ok(record) => record,
        Err(error) => {
            view.notice(&unreadable(&manifest, &error));
            return Ok(None);
        }
    };
    for text in corrupt_lines(&manifest, &record) {
        view.notice(&text);
    }
    let is_filtered = goal.is_filtered() || !goal.excluded.is_empty();
    let topology = if is_filtered || !answer.findings.is_empty() {
        Some(session.topology()?)
    } else {
        None
    };
    let instances = topology.as_ref().filter(|_| is_filtered);
    let scope = AnswerScope {
        environment: environment_of(session),
        instances: instances.map(|topology| selected(topology, goal, answer)),
    };
    let state = DriftState::of(&record, scope.environment.as_deref());
    drift::compare(answer, &state, &scope);
    if let Some(topology) = &topology {
        let folder = session.manifest.base_dir();
        add_origins(&mut answer.findings, &state, topology, &manifest, folder);
    }
    Ok(Some(Compared {
        manifest,
        record,
        scope,
    }))
}

/// Saves the answer in the drift record.
///
/// A record that cannot be written is a message: the answer itself counts more.
pub(super) fn save(answer: &DriftAnswer, compared: Compared, view: &mut dyn JobFrontend) {
    let Compared {
        manifest,
        mut record,
        scope,
    } = compared;
    drift::add_answer(&mut record, answer, &scope);
    if let Err(error) = write_drift_record(&manifest, &record) {
        let hint = error.hint().map(|hint| format!("; {hint}"));
        view.notice(&format!(
            "the answer is not in the drift record: {error}; the record is as it was before{}",
            hint.unwrap_or_default()
        ));
    }
}

/// Returns the name of the environment by which the record keeps answers apart.
pub(in crate::ops) fn environment_of(session: &Session) -> Option<std::sync::Arc<str>> {
    let name = session.environment.name.as_deref();
    name.filter(|name| *name != DEFAULT_ENVIRONMENT)
        .map(Into::into)
}

/// Returns a message for a record that cannot be read.
pub(in crate::ops) fn unreadable(manifest: &Path, error: &fs::Error) -> String {
    let path = manifest.with_file_name(DRIFT_FILE);
    let path = path.display();
    format!(
        "the drift record `{path}` cannot be read: {error}; the answer is not compared and not saved"
    )
}

/// Returns a message for each line of a record that is not readable.
pub(in crate::ops) fn corrupt_lines(manifest: &Path, record: &DriftRecord) -> Vec<String> {
    let path = manifest.with_file_name(DRIFT_FILE);
    let lines = record.corrupt_lines().map(|line| {
        let (path, number, reason) = (path.display(), line.number, line.reason);
        format!("{path}:{number}: the line is not readable, because {reason}; all others count")
    });
    lines.collect()
}

/// Returns the instances that the filters of a goal select, as far as that is certain.
fn selected(topology: &Topology, goal: &JobGoal, answer: &DriftAnswer) -> Vec<InstanceName> {
    let handles = topology.nodes().into_iter();
    let entities = handles.map(|handle| topology.entity(handle));
    let admitted = entities.filter(|entity| {
        let node = entity.node();
        let is_out =
            node.is_some_and(|node| exclusion_reason(topology, goal, &node.template).is_some());
        goal.admits(&entity.name) && !is_out
    });
    let mut names: Vec<InstanceName> = admitted.map(|entity| entity.name.clone()).collect();
    // Instances that are new or no longer in the model are in the answer only.
    let found = answer.findings.iter();
    names.extend(found.filter_map(|finding| finding.subject.instance.clone()));
    names.extend(goal.instances.iter().cloned());
    names.sort();
    names.dedup();
    names
}
