//! The order in which the machines of a run go on (P8, P29, P37).
//!
//! Without requisites, machines finish each state that they share before any goes on, so their
//! orders must agree. Consecutive states that cannot notice other machines count as one state, so that a machine
//! gets their changes together.

use std::collections::BTreeMap;

use super::fleet::{FleetMachine, MachineStage};
use super::request::{MachinePace, StatesRequest};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::fleet::{Error, ErrorKind};
use crate::states::{OrderConflict, SharedState, merge_orders};

/// The way in which machines wait for each other.
#[derive(Debug)]
pub(super) enum MachineOrder {
    /// Each machine runs without waiting for others.
    Independent,
    /// Machines run one after the other.
    Serial,
    /// Machines wait until all have finished a shared state.
    Lockstep(SharedStates),
}

/// The states that machines share.
#[derive(Debug)]
pub(super) struct SharedStates {
    states: Vec<SharedState>,
    /// The number of states that have started.
    started: usize,
    /// True if machines wait after each state. Otherwise they run consecutive self-contained states together.
    is_strict: bool,
}

impl SharedStates {
    /// Starts the next state, or several consecutive self-contained ones. Returns the active machines that have one
    /// of them, each with the last of its positions; None if all states have started.
    fn start_next(&mut self, is_active: impl Fn(usize) -> bool) -> Option<BTreeMap<usize, usize>> {
        let rest = self.states.get(self.started..)?;
        rest.first()?;
        let is_contained = |state: &&SharedState| !self.is_strict && state.is_self_contained;
        let count = rest.iter().take_while(is_contained).count().max(1);
        self.started += count;
        let positions = rest[..count].iter().flat_map(|state| &state.positions);
        let active = positions.filter(|(machine, _)| is_active(*machine));
        Some(active.copied().collect())
    }
}

impl MachineOrder {
    /// Decides the order once the states of all machines are compiled.
    pub(super) fn new(
        request: &StatesRequest,
        machines: &mut [FleetMachine],
    ) -> Result<Self, Error> {
        let active = || machines.iter().filter(|machine| machine.is_active());
        let lows = || active().filter_map(|machine| Some(&*machine.run.prepared()?.low));
        let waits = active().count() > 1 && lows().all(|low| !low.has_links);
        let flow = match request.pace {
            MachinePace::Serial => Self::Serial,
            MachinePace::Lockstep if waits => {
                let active_indices: Vec<usize> = (0..machines.len())
                    .filter(|at| machines[*at].is_active())
                    .collect();
                let merged = merge_orders(&lows().collect::<Vec<_>>());
                let mut shared = merged.map_err(|refused| {
                    let refused_at = |machine: usize| &machines[active_indices[machine]];
                    order_conflict_error(&refused, refused_at)
                })?;
                for (at, _) in shared.iter_mut().flat_map(|state| &mut state.positions) {
                    *at = active_indices[*at];
                }
                Self::Lockstep(SharedStates {
                    states: shared,
                    started: 0,
                    is_strict: request.fail_percent.is_some(),
                })
            }
            MachinePace::Lockstep | MachinePace::Independent => Self::Independent,
        };
        if matches!(flow, Self::Lockstep(..)) {
            for machine in machines {
                machine.barrier = Some(0);
            }
        }
        Ok(flow)
    }

    /// Returns the machines that may go on now, and marks them as running.
    ///
    /// Empty if nothing is left to do.
    pub(super) fn next(&mut self, machines: &mut [FleetMachine]) -> Vec<usize> {
        let due = self.next_machines(machines);
        for at in &due {
            machines[*at].stage = MachineStage::Running;
        }
        due
    }

    fn next_machines(&mut self, machines: &mut [FleetMachine]) -> Vec<usize> {
        let is_ready = |at: &usize| matches!(machines[*at].stage, MachineStage::Ready);
        let mut all = 0..machines.len();
        match self {
            Self::Independent => all.filter(is_ready).collect(),
            Self::Serial => all.find(is_ready).into_iter().collect(),
            Self::Lockstep(shared) => {
                while let Some(places) = shared.start_next(|at| machines[at].is_active()) {
                    for (machine, place) in &places {
                        machines[*machine].barrier = Some(*place);
                    }
                    if !places.is_empty() {
                        return places.into_keys().collect();
                    }
                }
                // States after the last shared state run without a barrier.
                let is_behind_barrier =
                    |at: &usize| machines[*at].barrier.is_some() && machines[*at].is_active();
                let due: Vec<usize> = all.filter(is_behind_barrier).collect();
                for at in &due {
                    machines[*at].barrier = None;
                }
                due
            }
        }
    }
}

/// Returns the error for machines that have no common order, with a hint (P30).
fn order_conflict_error<'a>(
    refused: &OrderConflict,
    machine: impl Fn(usize) -> &'a FleetMachine,
) -> Error {
    let name = |at: usize| machine(at).host.name.to_string();
    let mut steps = Vec::new();
    for (nth, state) in refused.states.iter().enumerate() {
        let next = &refused.states[(nth + 1) % refused.states.len()];
        let host = name(state.machine);
        steps.push(format!(
            "on `{host}` {} comes before {}",
            state.label, next.label
        ));
    }
    let message = format!(
        "the hosts would run the same states in different orders: {}",
        steps.join(", ")
    );
    let help = "give the states the same `order:` on all hosts; if a loop creates them, put the loop variable into their \
                IDs, so that each round has its own states; or use `--no-wait`, so that hosts do not wait for each other";
    let mut diagnostic = Diagnostic::error(message).help(help);
    let sources = refused.states.first().map(|state| machine(state.machine));
    let sources = sources.and_then(|machine| machine.run.prepared());
    let sources: Sources = sources.map_or_else(Sources::default, |it| it.compiled.sources.clone());
    if let Some(first) = refused.states.first() {
        diagnostic = diagnostic.label(first.span, "one of these states");
    }
    let problems: Diagnostics = [diagnostic].into_iter().collect();
    Error::with_sources(ErrorKind::Refused, problems, sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the machines that start together, each with the position that it may reach.
    fn starts(is_strict: bool, states: &[(bool, &[(usize, usize)])]) -> Vec<Vec<(usize, usize)>> {
        let state = |(is_self_contained, positions): &(bool, &[(usize, usize)])| SharedState {
            label: String::new(),
            positions: positions.to_vec(),
            is_self_contained: *is_self_contained,
        };
        let mut shared = SharedStates {
            states: states.iter().map(state).collect(),
            started: 0,
            is_strict,
        };
        let next = || shared.start_next(|machine| machine != 2);
        let all = std::iter::from_fn(next);
        all.map(|places| places.into_iter().collect()).collect()
    }

    #[test]
    fn machines_run_self_contained_states_together_and_wait_around_all_others() {
        let states: [(bool, &[(usize, usize)]); 5] = [
            (true, &[(0, 0), (1, 0)]),
            (true, &[(1, 1)]),
            (false, &[(0, 1), (1, 2)]),
            (true, &[(0, 2), (2, 0)]),
            (true, &[(0, 3), (1, 3)]),
        ];
        let together = vec![
            vec![(0, 0), (1, 1)],
            vec![(0, 1), (1, 2)],
            vec![(0, 3), (1, 3)],
        ];
        assert_eq!(starts(false, &states), together);
        let one_by_one = vec![
            vec![(0, 0), (1, 0)],
            vec![(1, 1)],
            vec![(0, 1), (1, 2)],
            vec![(0, 2)],
            vec![(0, 3), (1, 3)],
        ];
        assert_eq!(starts(true, &states), one_by_one);
    }
}
