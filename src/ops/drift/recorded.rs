//! The drift that the last looks found, as the drift record tells it. Nothing is looked at here.

use super::history::{corrupt_lines, environment_of, unreadable};
use crate::drift::{DriftKind, DriftState, Finding, KnownFinding};
use crate::ensemble::read_drift_record;
use crate::name::InstanceName;
use crate::session::Session;
use crate::topology::Topology;
use crate::value::Handle;

/// The findings that the last looks recorded.
#[derive(Debug, Default)]
pub struct RecordedDrift {
    state: DriftState,
    /// Messages about the record and its lines.
    pub problems: Vec<String>,
}

impl RecordedDrift {
    /// Reads the drift record of an ensemble. An unreadable one is empty, with a message.
    pub(in crate::ops) fn of(session: &Session) -> Self {
        let manifest = session.manifest.path();
        match read_drift_record(manifest) {
            Ok(record) => Self {
                state: DriftState::of(&record, environment_of(session).as_deref()),
                problems: corrupt_lines(manifest, &record),
            },
            Err(error) => Self {
                state: DriftState::default(),
                problems: vec![unreadable(manifest, &error)],
            },
        }
    }

    /// Returns the findings about an instance that no change of the instance has overtaken since.
    pub fn of_instance(&self, topology: &Topology, handle: Handle) -> Vec<&KnownFinding> {
        let entity = topology.entity(handle);
        let changed = entity.last_change().and_then(|id| id.time());
        let mut findings = self.named(&entity.name);
        findings.retain(|known| {
            let seen = known.last_determined().sightings.as_ref();
            let seen = seen.map(|sightings| sightings.seen);
            changed.is_none_or(|changed| seen.is_none_or(|seen| changed <= seen))
        });
        findings
    }

    /// Returns the drift from outside of an instance that no rule ignores.
    pub fn alarms_of(&self, topology: &Topology, handle: Handle) -> Vec<&Finding> {
        let known = self.of_instance(topology, handle).into_iter();
        let findings = known.map(KnownFinding::last_determined);
        findings
            .filter(|it| it.kind == DriftKind::Outside && it.ignored_by.is_none())
            .collect()
    }

    /// Returns the findings about the instance with a name.
    pub fn named(&self, name: &InstanceName) -> Vec<&KnownFinding> {
        let findings = self.state.findings.iter();
        findings
            .filter(|known| known.finding.subject.instance.as_ref() == Some(name))
            .collect()
    }
}
