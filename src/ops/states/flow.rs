//! How machines wait for each other (P8, P29, P37).

use super::machine::{Machine, Stage};
use super::request::{Pace, StatesRequest};
use crate::converge::{NoOrder, Shared, merge};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::ops::failure::{Failure, FailureKind};

/// How machines wait for each other.
#[derive(Debug, Default)]
pub(super) struct Flow {
    kind: Kind,
    /// The last place of its order that each machine may come to; none for to the end.
    gates: Vec<Option<usize>>,
}

#[derive(Debug, Default)]
enum Kind {
    /// Each goes on by itself.
    #[default]
    Alone,
    /// One after the other.
    Serial,
    /// All come to a state before any goes on: the states, and how many were come to.
    Together(Vec<Shared>, usize),
}

impl Flow {
    /// How the machines wait for each other, once all are compiled.
    pub(super) fn of(request: &StatesRequest, machines: &[Machine]) -> Result<Self, Failure> {
        let active = || machines.iter().filter(|machine| machine.is_active());
        let lows = || active().filter_map(|machine| Some(&*machine.run.prepared()?.low));
        let waits = active().count() > 1 && lows().all(|low| !low.has_links);
        let kind = match request.pace {
            Pace::Serial => Kind::Serial,
            Pace::Together if waits => {
                let places: Vec<usize> = (0..machines.len())
                    .filter(|at| machines[*at].is_active())
                    .collect();
                let merged = merge(&lows().collect::<Vec<_>>());
                let mut shared = merged.map_err(|refused| {
                    let refused_at = |machine: usize| &machines[places[machine]];
                    contradiction(&refused, refused_at)
                })?;
                for (at, _) in shared.iter_mut().flat_map(|state| &mut state.at) {
                    *at = places[*at];
                }
                Kind::Together(shared, 0)
            }
            Pace::Together | Pace::Alone => Kind::Alone,
        };
        let first = matches!(kind, Kind::Together(..)).then_some(0);
        Ok(Self {
            kind,
            gates: vec![first; machines.len()],
        })
    }

    /// How far a machine may go in its order.
    pub(super) fn gate(&self, machine: usize) -> Option<usize> {
        self.gates.get(machine).copied().flatten()
    }

    /// Lets machines go on; none if there is nothing left to do.
    pub(super) fn next(&mut self, machines: &mut [Machine]) -> Vec<usize> {
        let due = self.whose_turn(machines);
        for at in &due {
            machines[*at].stage = Stage::Running;
        }
        due
    }

    fn whose_turn(&mut self, machines: &[Machine]) -> Vec<usize> {
        let is_ready = |at: &usize| matches!(machines[*at].stage, Stage::Ready);
        let is_active = |at: &usize| machines[*at].is_active();
        let mut all = 0..machines.len();
        match &mut self.kind {
            Kind::Alone => all.filter(is_ready).collect(),
            Kind::Serial => all.find(is_ready).into_iter().collect(),
            Kind::Together(shared, at) => {
                while let Some(state) = shared.get(*at) {
                    *at += 1;
                    let here = state.at.iter().filter(|(at, _)| is_active(at));
                    let here: Vec<(usize, usize)> = here.copied().collect();
                    for (machine, place) in &here {
                        self.gates[*machine] = Some(*place);
                    }
                    if !here.is_empty() {
                        return here.into_iter().map(|(machine, _)| machine).collect();
                    }
                }
                // What comes after all states.
                let closed = |at: &usize| self.gates[*at].is_some() && is_active(at);
                let due: Vec<usize> = all.filter(closed).collect();
                for at in &due {
                    self.gates[*at] = None;
                }
                due
            }
        }
    }
}

/// Why machines have no common order, with what helps (P30).
fn contradiction<'a>(refused: &NoOrder, machine: impl Fn(usize) -> &'a Machine) -> Failure {
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
        "the hosts come to the same states in different orders: {}",
        steps.join(", ")
    );
    let help = "give the states the same `order:` on all hosts; where a loop makes them, put what the loop counts \
                into their IDs, so that each round has states of its own; or let no host wait for another: `--no-wait`";
    let mut diagnostic = Diagnostic::error(message).help(help);
    let sources = refused.states.first().map(|state| machine(state.machine));
    let sources = sources.and_then(|machine| machine.run.prepared());
    let sources: Sources = sources.map_or_else(Sources::default, |it| it.compiled.sources.clone());
    if let Some(first) = refused.states.first() {
        diagnostic = diagnostic.label(first.span, "one of them");
    }
    let problems: Diagnostics = [diagnostic].into_iter().collect();
    Failure::with_places(FailureKind::Refused, problems, sources)
}
