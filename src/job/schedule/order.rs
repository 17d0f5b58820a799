//! The order of steps: derives from the plan and the requirements which step waits for which.

use std::collections::HashMap;

use super::steps::Steps;
use crate::plan::StepId;
use crate::value::Handle;

/// The round in which a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StepRound {
    /// As soon as its requirements are met.
    First,
    /// After the steps that set the attributes it reads.
    Late,
    /// After steps of the late round that it requires.
    AfterLate,
}

/// The input for ordering steps: their properties, progress, and known waits.
pub(super) struct StepOrdering<'a> {
    pub(super) steps: &'a dyn Steps,
    pub(super) done: &'a [bool],
    pub(super) waiting: &'a HashMap<StepId, Vec<StepId>>,
}

impl StepOrdering<'_> {
    /// Whether a step is still to be done.
    pub(super) fn is_open(&self, step: StepId) -> bool {
        !self.done[step] && self.steps.runs(step)
    }

    /// Returns the round of each step.
    ///
    /// Deferred steps and the steps after them in their unit are late. The steps of instances that
    /// require theirs come after the late ones, unless the deferred step waits for those.
    pub(super) fn step_rounds(&self, units: &[Vec<StepId>]) -> Vec<StepRound> {
        let mut late = vec![StepRound::First; self.done.len()];
        let mut late_instances: HashMap<Handle, Vec<StepId>> = HashMap::new();
        let steps = self.by_instance(units, |step| self.is_open(step));
        let mut through = HashMap::new();
        for unit in units {
            let Some(instance) = unit.first().map(|step| self.steps.instance(*step)) else {
                continue;
            };
            let requires = self.required_in(instance, &steps, &mut through);
            let follows = requires.iter().any(|required| {
                late_instances
                    .get(required)
                    .is_some_and(|steps| !steps.iter().any(|step| self.waits_on(*step, instance)))
            });
            // Steps of an instance stay in order, because a late check precedes the step that it may make
            // unnecessary.
            let own = late_instances.get(&instance).and_then(|own| own.last());
            let own = own.map_or(StepRound::First, |step| late[*step]);
            let mut turn = if follows { StepRound::AfterLate } else { own };
            for step in unit {
                if self.steps.is_deferred(*step) {
                    turn = turn.max(StepRound::Late);
                }
                if turn != StepRound::First && !self.done[*step] {
                    late[*step] = turn;
                    late_instances.entry(instance).or_default().push(*step);
                }
            }
        }
        late
    }

    /// Whether a step waits for a step of an instance.
    fn waits_on(&self, step: StepId, instance: Handle) -> bool {
        let on = self.waiting.get(&step).into_iter().flatten();
        on.into_iter()
            .any(|producer| self.steps.instance(*producer) == instance)
    }

    /// Returns the order within units, and between units of the same instance, as pairs of a step and its
    /// predecessor.
    pub(super) fn sequence_edges(&self, units: &[Vec<StepId>]) -> Vec<(StepId, StepId)> {
        let mut edges = Vec::new();
        let mut last: HashMap<Handle, StepId> = HashMap::new();
        for unit in units {
            // Skipped steps must not break the chain.
            let alive = unit.iter().copied().filter(|step| self.is_open(*step));
            let alive: Vec<StepId> = alive.collect();
            let Some(first) = alive.first() else { continue };
            let instance = self.steps.instance(*first);
            if let Some(before) = last.get(&instance) {
                edges.push((*first, *before));
            }
            edges.extend(alive.windows(2).map(|pair| (pair[1], pair[0])));
            last.insert(instance, alive[alive.len() - 1]);
        }
        edges
    }

    /// Returns the order between instances: the first step of an instance waits for the last step of each
    /// required one. For removals it is reversed.
    pub(super) fn requirement_edges(
        &self,
        units: &[Vec<StepId>],
        place: &HashMap<StepId, usize>,
    ) -> Vec<(StepId, StepId)> {
        let steps = self.by_instance(units, |step| place.contains_key(&step));
        let mut edges = Vec::new();
        let mut through = HashMap::new();
        for (instance, own) in &steps {
            let removes = own.iter().any(|step| self.steps.removes(*step));
            for required in self.required_in(*instance, &steps, &mut through) {
                let Some(other) = steps.get(&required) else {
                    continue;
                };
                // Steps that wait for the instance itself, and the steps after them, come later.
                let waits = |step: &StepId| self.waits_on(*step, *instance);
                let free = other.iter().position(waits).unwrap_or(other.len());
                let (later, earlier) = match removes {
                    true if free < other.len() => continue,
                    true => (other.as_slice(), own.as_slice()),
                    false => (own.as_slice(), &other[..free]),
                };
                let Some(first) = later.iter().copied().min_by_key(|step| place[step]) else {
                    continue;
                };
                let before = earlier.iter().filter(|step| place[*step] < place[&first]);
                if let Some(last) = before.max_by_key(|step| place[*step]) {
                    edges.push((first, *last));
                }
            }
        }
        edges
    }

    /// Returns the steps of each instance that pass a filter.
    fn by_instance(
        &self,
        units: &[Vec<StepId>],
        counts: impl Fn(StepId) -> bool,
    ) -> HashMap<Handle, Vec<StepId>> {
        let mut steps: HashMap<Handle, Vec<StepId>> = HashMap::new();
        for step in units.iter().flatten().filter(|step| counts(**step)) {
            let instance = self.steps.instance(*step);
            steps.entry(instance).or_default().push(*step);
        }
        steps
    }

    /// Returns the instances with steps that an instance requires, directly or through instances without
    /// steps. `through` caches results for the latter.
    fn required_in(
        &self,
        of: Handle,
        steps: &HashMap<Handle, Vec<StepId>>,
        through: &mut HashMap<Handle, Vec<Handle>>,
    ) -> Vec<Handle> {
        let direct = self.steps.required(of);
        let idle = direct.iter().copied();
        let idle = idle.filter(|required| !steps.contains_key(required));
        let order = crate::dag::dependencies_first(idle.collect::<Vec<_>>(), |handle| {
            if steps.contains_key(&handle) || through.contains_key(&handle) {
                return Vec::new();
            }
            self.steps.required(handle)
        });
        let resolve = |all: Vec<Handle>, through: &HashMap<Handle, Vec<Handle>>| {
            let mut found = Vec::new();
            for handle in all {
                match through.get(&handle) {
                    Some(behind) => found.extend(behind),
                    None => found.push(handle),
                }
            }
            found.sort_unstable();
            found.dedup();
            found.retain(|handle| steps.contains_key(handle));
            found
        };
        for handle in order {
            if !steps.contains_key(&handle) && !through.contains_key(&handle) {
                let behind = resolve(self.steps.required(handle), through);
                through.insert(handle, behind);
            }
        }
        resolve(direct, through)
    }
}
