//! The drift that the last looks found, as the drift record tells it. Nothing is looked at here.

use jiff::Timestamp;

use super::history::{corrupt_lines, environment_of, unreadable};
use crate::drift::{DriftKind, DriftState, Finding, KnownFinding};
use crate::ensemble::read_drift_record;
use crate::name::{ChangeId, InstanceName, next_tick};
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
        let changed = entity.last_change();
        let mut findings = self.named(&entity.name);
        findings.retain(|known| {
            let seen = known.last_determined().sightings.as_ref();
            match (&changed, seen) {
                (Some(changed), Some(sightings)) => !is_after(changed, sightings.seen),
                _ => true,
            }
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

/// Returns true if the job of a change started after a time. A change id gives the start to the tick of its clock; a job
/// within the same tick counts as later, because no look follows the start of a job that quickly.
fn is_after(changed: &ChangeId, time: Timestamp) -> bool {
    changed.tick().is_some_and(|start| next_tick(start) > time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_overtakes_a_look_of_the_same_second() {
        let looked: Timestamp = "2026-11-29T06:37:58.250Z".parse().unwrap();
        let is_overtaken =
            |start: &str| is_after(&ChangeId::job(start.parse().unwrap()).unwrap(), looked);
        assert!(is_overtaken("2026-11-29T06:37:59Z"));
        assert!(is_overtaken("2026-11-29T06:37:58.300Z"));
        assert!(is_overtaken("2026-11-29T06:37:58.251Z"));
        assert!(!is_overtaken("2026-11-29T06:37:58.200Z"));
        assert!(!is_overtaken("2026-11-29T06:37:58Z"));
        assert!(!is_overtaken("2026-11-29T06:37:57.900Z"));
    }
}
