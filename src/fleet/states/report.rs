//! The report of a run of states over all machines.
//!
//! [`StatesReport`] is what `apply_states` returns; `cli` and `ui` print it.

use std::sync::Arc;
use std::time::Duration;

use super::fleet::{FleetMachine, MachineEnd, MachineStage};
use super::request::StatesRequest;
use crate::states::{LowData, StateOutcome, StateResult, Timestamp};

/// The results of a run of states.
#[derive(Debug)]
pub struct StatesReport {
    /// The machines, in the order in which they were named.
    pub machines: Vec<MachineReport>,
    /// The reason why the run stopped early, if it did.
    pub stopped: Option<String>,
    /// The exit code: 0, 1 if anything failed, or 128 plus the signal that requested termination.
    pub exit_code: u8,
}

/// The results of the states of one machine.
#[derive(Debug)]
pub struct MachineReport {
    /// The name of the machine in messages and results.
    pub name: Arc<str>,
    pub end: MachineEnd,
    /// The results of the states that were reached, in the order of execution.
    pub results: Vec<StateResult>,
    /// The compiled states. None if compilation failed or was not reached.
    pub low: Option<Arc<LowData>>,
}

impl MachineReport {
    /// Whether the machine was lost or one of its states failed.
    pub fn has_failed(&self) -> bool {
        let failed = |result: &StateResult| result.outcome.result == Some(false);
        !matches!(self.end, MachineEnd::Done | MachineEnd::Stopped)
            || self.results.iter().any(failed)
    }

    /// Returns how many states of the machine were not reached.
    pub fn not_reached(&self) -> usize {
        let all = self.low.as_ref().map_or(0, |low| low.chunks.len());
        let mut reached: Vec<_> = self.results.iter().filter_map(|it| it.chunk).collect();
        reached.sort_unstable();
        reached.dedup();
        all.saturating_sub(reached.len())
    }
}

/// Returns the entry for a machine to which the top file assigns no states (S7).
fn unmatched_result() -> StateResult {
    let comment = "No states are assigned to this host: there is no top file (`top.sls`), or it does \
                   not match the host. Name state files, or write a top file such as \
                   `base: {'*': [nginx]}`, where `*` is a pattern for hosts and `nginx` a state file.";
    StateResult {
        chunk: None,
        state: "no".into(),
        id: "states".into(),
        name: "states".into(),
        slot_name: None,
        fun: "None".into(),
        sls: None,
        number: 0,
        start: Timestamp::default(),
        duration: Duration::ZERO,
        skipped: false,
        parallel: false,
        doubtful: false,
        outcome: StateOutcome::failed(comment),
    }
}

impl StatesReport {
    pub(super) fn of(
        machines: Vec<FleetMachine>,
        request: &StatesRequest,
        stopped: Option<String>,
    ) -> Self {
        let machines = machines.into_iter().map(|machine| {
            let mut results = machine.run.results().to_vec();
            results.sort_by_key(|result| result.number);
            let prepared = machine.run.prepared();
            if prepared.is_some_and(|prepared| prepared.compiled.is_unmatched) {
                results.push(unmatched_result());
            }
            MachineReport {
                name: machine.host.name,
                end: match machine.stage {
                    MachineStage::Ended(end) => end,
                    _ => MachineEnd::Stopped,
                },
                results,
                low: machine.run.into_prepared().map(|prepared| prepared.low),
            }
        });
        let machines: Vec<MachineReport> = machines.collect();
        let failed = stopped.is_some() || machines.iter().any(MachineReport::has_failed);
        let exit_code = match request.interrupts.first() {
            Some(signal) if stopped.is_some() => u8::try_from(128 + signal).unwrap_or(130),
            _ => u8::from(failed),
        };
        Self {
            machines,
            stopped,
            exit_code,
        }
    }
}
