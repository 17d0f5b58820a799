//! Looks at hosts: runs the first phase of their states (facts, differences) and makes findings of the results.

use std::collections::HashMap;
use std::sync::Arc;

use super::place::describe;
use super::rules;
use crate::drift::{Difference, DriftAnswer, DriftKind, Finding, LoadProblem, Subject};
use crate::fleet::states::{
    MachineEnd, MachinePace, MachineReport, StatesRequest, StatesView, apply_states,
};
use crate::job::drift::SeenState;
use crate::ops::failure::{Failure, FailureKind};
use crate::session::{self, LoadErrorKind, SessionOptions};
use crate::states::{Chunk, StateResult};
use crate::system::clock;

/// The name of an answer about hosts.
const NAME: &str = "hosts";

/// The name of this machine among hosts.
const THIS_MACHINE: &str = "@local";

/// A request to look at hosts.
#[derive(Debug)]
pub struct HostDriftRequest {
    /// The states and the hosts. The states only run in test mode.
    pub states: StatesRequest,
    /// The ensemble of the current folder, whose ignore rules count for hosts, too. Its environment may be named.
    pub session: SessionOptions,
}

/// Looks at hosts as `unfurl state test` does, and changes nothing on them.
///
/// A host that cannot be reached is a finding, and the others go on. States that do not compile are an answer with a
/// problem. The function fails only if a signal arrives or if the ensemble of the current folder cannot be loaded.
pub fn drift_of_hosts(
    request: &HostDriftRequest,
    view: &mut dyn StatesView,
) -> Result<DriftAnswer, Failure> {
    let mut answer = DriftAnswer::empty(
        NAME.into(),
        request.session.environment.as_deref().map(Into::into),
        clock::now(),
    );
    let states = StatesRequest {
        test: true,
        // Each host goes on for itself, and after a state that failed: everything is looked at.
        has_named_hosts: false,
        pace: MachinePace::Independent,
        fail_percent: None,
        ..request.states.clone()
    };
    match apply_states(&states, view) {
        Ok(report) => {
            if let Some(signal) = states.interrupts.first() {
                return Err(Failure::interrupted(signal));
            }
            for machine in &report.machines {
                let name = if request.states.has_named_hosts {
                    Arc::clone(&machine.name)
                } else {
                    THIS_MACHINE.into()
                };
                add_machine(&mut answer, machine, &name);
            }
        }
        Err(error) => {
            let failure = Failure::from(error);
            if let FailureKind::Interrupted(_) = failure.kind {
                return Err(failure);
            }
            answer.problem = Some(LoadProblem::Invalid(describe(&failure).into()));
        }
    }
    apply_rules(&mut answer, &request.session)?;
    Ok(answer)
}

/// Marks the findings that a rule of the ensemble of the current folder ignores.
fn apply_rules(answer: &mut DriftAnswer, options: &SessionOptions) -> Result<(), Failure> {
    let found = match session::find(options) {
        Ok(found) => found,
        Err(error) if error.kind == LoadErrorKind::NoEnsemble => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let session = session::load(found, options)?;
    rules::apply(answer, &session, false);
    Ok(())
}

/// Adds the results of a machine: a finding for each state that would change something or could not look.
fn add_machine(answer: &mut DriftAnswer, machine: &MachineReport, name: &Arc<str>) {
    let mut names: HashMap<String, usize> = HashMap::new();
    for result in &machine.results {
        *names.entry(attribute_of(result)).or_default() += 1;
    }
    let chunks = machine.low.as_ref().map_or(&[][..], |low| &low.chunks[..]);
    for result in &machine.results {
        let chunk = result.chunk.and_then(|index| chunks.get(index as usize));
        let outcome = &result.outcome;
        let seen = SeenState {
            result: outcome.result,
            comment: &outcome.comment,
            changes: Some(&outcome.changes),
            is_unconditional: chunk.is_some_and(Chunk::is_unconditional_command),
        };
        answer.total += 1;
        let judged = seen.judge(DriftKind::Outside);
        let Some((kind, difference, reason)) = judged else {
            answer.looked_at += 1;
            continue;
        };
        answer.looked_at += usize::from(kind != DriftKind::CannotTell);
        let mut attribute = attribute_of(result);
        // The states of one ID with several names differ in the name alone.
        if names[&attribute] > 1 {
            attribute = format!("{attribute}: {}", result.name);
        }
        let mut finding = finding(name, &attribute, kind, difference);
        finding.reason = reason;
        answer.findings.push(finding);
    }
    let lost = match &machine.end {
        MachineEnd::Lost(reason) => reason.as_str(),
        MachineEnd::Refused(_) => "the states of the host do not compile",
        MachineEnd::Stopped => "the run was stopped before the host was done",
        MachineEnd::Done => return,
    };
    // The number of states is known only if the host was lost after they were compiled.
    answer.total += machine.not_reached().max(1);
    let none = Difference::default();
    let mut finding = finding(name, "status", DriftKind::CannotTell, none);
    finding.reason = Some(lost.into());
    answer.findings.push(finding);
}

fn finding(host: &Arc<str>, attribute: &str, kind: DriftKind, difference: Difference) -> Finding {
    let subject = Subject {
        instance: None,
        host: Some(Arc::clone(host)),
        attribute: attribute.into(),
    };
    Finding::new(subject, kind, difference)
}

/// Returns a state as `ID (module.function)`.
fn attribute_of(result: &StateResult) -> String {
    let StateResult { state, id, fun, .. } = result;
    format!("{id} ({state}.{fun})")
}
