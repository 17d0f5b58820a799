//! The order of steps: what waits for what, and what must not run at the same time.

use std::collections::HashMap;

use super::engine::Engine;
use super::task::Stage;
use crate::plan::{Item, StepId, Workflow};
use crate::value::Handle;

/// The rank of steps for instances that the job has added: after the first round.
pub(super) const ADDED: u8 = 1;
/// The rank of steps that wait for what others set.
pub(super) const LATE: u8 = 2;
/// The rank of steps that waited for what then did not change.
pub(super) const STRAGGLES: u8 = 4;

/// When the turn of a step comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// As soon as what it requires is there.
    First,
    /// After those that set what it reads.
    Late,
    /// After late ones that it requires.
    AfterLate,
}

/// The places of steps in an order.
fn places(order: &[StepId]) -> HashMap<StepId, usize> {
    let places = order.iter().enumerate();
    places.map(|(place, step)| (*step, place)).collect()
}

impl Engine {
    /// Builds the queue once the plan is rendered. Steps of a group follow each other; an
    /// instance follows what it requires (before it, where things are removed); a deferred step
    /// follows those that set what it reads.
    pub(super) fn build_queue(&mut self) {
        let units = self.units(0);
        let late = self.late_steps(&units);
        let mut order: Vec<StepId> = (0..self.plan.steps.len())
            .filter(|step| !self.done[*step] && self.runs(*step))
            .collect();
        order.sort_by_key(|step| late[*step]);
        for step in &order {
            let rank = if late[*step] == Turn::First { 0 } else { LATE };
            self.queue.add_ranked(*step, rank);
        }
        let place = places(&order);
        let mut edges = self.sequence_edges(&units);
        edges.extend(self.requirement_edges(&units, &place));
        for (step, on) in edges {
            let forward = place
                .get(&on)
                .zip(place.get(&step))
                .is_some_and(|(on, step)| on < step);
            if forward {
                self.queue.wait(step, on);
            }
        }
        for (step, producers) in &self.waiting {
            for on in producers {
                self.queue.wait(*step, *on);
            }
        }
    }

    /// Whether a step is part of the job.
    pub(super) fn runs(&self, step: StepId) -> bool {
        self.task_of[step].is_none_or(|task| self.includes(task))
    }

    /// Queues the steps of the plan from an item on, which came to it while the job runs: they
    /// also wait for what is left to do on the instances that theirs require.
    pub(super) fn extend_queue(&mut self, first_item: usize) {
        let units = self.units(first_item);
        let steps = units.iter().flatten().copied();
        let steps: Vec<StepId> = steps
            .filter(|step| !self.done[*step] && self.runs(*step))
            .collect();
        let place: HashMap<StepId, usize> = steps.iter().copied().zip(0..).collect();
        for step in &steps {
            self.queue.add_ranked(*step, ADDED);
        }
        let mut edges = self.sequence_edges(&units);
        edges.extend(self.requirement_edges(&units, &place));
        edges.retain(|(step, on)| place.get(on) < place.get(step));
        for unit in &units {
            let Some(first) = unit.iter().find(|step| place.contains_key(*step)) else {
                continue;
            };
            let required = self.required_instances(self.unit_instance(*first));
            let open = required.iter().filter_map(|it| self.producers.get(it));
            let earlier = open.flatten().filter(|step| !place.contains_key(*step));
            edges.extend(earlier.map(|on| (*first, *on)));
        }
        for step in &steps {
            let on = self.waiting.get(step).into_iter().flatten();
            edges.extend(on.map(|on| (*step, *on)));
        }
        for (step, on) in edges {
            self.queue.wait(step, on);
        }
    }

    /// The steps of each top-level item of the plan from one on, in order.
    fn units(&self, first: usize) -> Vec<Vec<StepId>> {
        self.plan.items[first..]
            .iter()
            .map(|item| {
                let (mut steps, mut stack) = (Vec::new(), vec![*item]);
                while let Some(item) = stack.pop() {
                    match item {
                        Item::Step(step) => steps.push(step),
                        Item::Group(group) => {
                            stack.extend(self.plan.groups[group].items.iter().rev());
                        }
                    }
                }
                steps
            })
            .collect()
    }

    /// The steps that come in the second round: deferred ones, what follows them in their unit,
    /// and what requires their instance unless they wait for it.
    fn late_steps(&self, units: &[Vec<StepId>]) -> Vec<Turn> {
        let mut late = vec![Turn::First; self.plan.steps.len()];
        let mut late_instances: HashMap<Handle, Vec<StepId>> = HashMap::new();
        let steps = self.steps_by_instance(units, |step| !self.done[step] && self.runs(step));
        let mut through = HashMap::new();
        for unit in units {
            let Some(instance) = unit.first().map(|step| self.unit_instance(*step)) else {
                continue;
            };
            let requires = self.required_in(instance, &steps, &mut through);
            let follows = requires.iter().any(|required| {
                late_instances.get(required).is_some_and(|steps| {
                    !steps.iter().any(|step| self.step_waits_on(*step, instance))
                })
            });
            // What an instance does is in order: a late check comes before what it may spare.
            let own = late_instances.get(&instance).and_then(|own| own.last());
            let own = own.map_or(Turn::First, |step| late[*step]);
            let mut turn = if follows { Turn::AfterLate } else { own };
            for step in unit {
                let task = self.task_of[*step].map(|task| self.tasks[task].stage);
                if task == Some(Stage::Deferred) {
                    turn = turn.max(Turn::Late);
                }
                if turn != Turn::First && !self.done[*step] {
                    late[*step] = turn;
                    late_instances.entry(instance).or_default().push(*step);
                }
            }
        }
        late
    }

    fn step_waits_on(&self, step: StepId, instance: Handle) -> bool {
        self.waiting
            .get(&step)
            .is_some_and(|on| on.iter().any(|p| self.unit_instance(*p) == instance))
    }

    /// The instance a step belongs to: for relationships the group's target.
    pub(super) fn unit_instance(&self, step: StepId) -> Handle {
        let target = self.targets[step];
        let group = self.plan.steps[step].group;
        match group.map(|group| &self.plan.groups[group].target) {
            Some(crate::plan::Target::Node(name)) => {
                self.topology.find(name.as_str()).unwrap_or(target)
            }
            _ => self.topology.source_of(target).unwrap_or(target),
        }
    }

    pub(super) fn required_instances(&self, of: Handle) -> Vec<Handle> {
        let entity = self.topology.entity(of);
        let requirements = entity.node().map_or(&[][..], |node| &node.requirements);
        let targets = requirements
            .iter()
            .filter_map(|r| self.topology.target_of(*r));
        let required: Vec<Handle> = targets
            .chain(entity.parent.filter(|parent| *parent != entity.scope))
            .collect();
        let within = required
            .iter()
            .flat_map(|required| self.topology.nodes_within(*required));
        let mut all: Vec<Handle> = within.collect();
        all.extend(required);
        all
    }

    /// Each step after the one before it, in its unit and between units of one instance.
    pub(super) fn sequence_edges(&self, units: &[Vec<StepId>]) -> Vec<(StepId, StepId)> {
        let mut edges = Vec::new();
        let mut last: HashMap<Handle, StepId> = HashMap::new();
        for unit in units {
            // What is left out must not break the chain.
            let alive: Vec<_> = unit
                .iter()
                .copied()
                .filter(|step| !self.done[*step] && self.runs(*step))
                .collect();
            let Some(first) = alive.first() else { continue };
            let instance = self.unit_instance(*first);
            if let Some(before) = last.get(&instance) {
                edges.push((*first, *before));
            }
            edges.extend(alive.windows(2).map(|pair| (pair[1], pair[0])));
            last.insert(instance, alive[alive.len() - 1]);
        }
        edges
    }

    /// Between instances: the first step of one waits for the last steps of those it requires, or
    /// the other way round where things are removed.
    pub(super) fn requirement_edges(
        &self,
        units: &[Vec<StepId>],
        place: &HashMap<StepId, usize>,
    ) -> Vec<(StepId, StepId)> {
        let steps = self.steps_by_instance(units, |step| place.contains_key(&step));
        let mut edges = Vec::new();
        let mut through = HashMap::new();
        for (instance, own) in &steps {
            let removes = own.iter().any(|step| self.removes(*step));
            for required in self.required_in(*instance, &steps, &mut through) {
                let Some(other) = steps.get(&required) else {
                    continue;
                };
                // What waits for the instance itself, and what follows that, comes after it.
                let waits = |step: &StepId| self.step_waits_on(*step, *instance);
                let free = other.iter().position(waits).unwrap_or(other.len());
                let (later, earlier) = match removes {
                    true if free < other.len() => continue,
                    true => (other.as_slice(), own.as_slice()),
                    false => (own.as_slice(), &other[..free]),
                };
                for first in firsts(later, place) {
                    let before = earlier.iter().filter(|step| place[*step] < place[&first]);
                    if let Some(last) = before.max_by_key(|step| place[*step]) {
                        edges.push((first, *last));
                    }
                }
            }
        }
        edges
    }

    /// The steps of each instance, those that count.
    fn steps_by_instance(
        &self,
        units: &[Vec<StepId>],
        counts: impl Fn(StepId) -> bool,
    ) -> HashMap<Handle, Vec<StepId>> {
        let mut steps: HashMap<Handle, Vec<StepId>> = HashMap::new();
        for step in units.iter().flatten().filter(|step| counts(**step)) {
            let instance = self.unit_instance(*step);
            steps.entry(instance).or_default().push(*step);
        }
        steps
    }

    /// The instances with steps that one requires, be it through others that have none. What was
    /// found for those is kept in `through`.
    fn required_in(
        &self,
        of: Handle,
        steps: &HashMap<Handle, Vec<StepId>>,
        through: &mut HashMap<Handle, Vec<Handle>>,
    ) -> Vec<Handle> {
        let direct = self.required_instances(of);
        let idle: Vec<Handle> = direct
            .iter()
            .copied()
            .filter(|required| !steps.contains_key(required))
            .collect();
        let order = crate::dag::dependencies_first(idle, |handle| {
            if steps.contains_key(&handle) || through.contains_key(&handle) {
                return Vec::new();
            }
            self.required_instances(handle)
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
                let behind = resolve(self.required_instances(handle), through);
                through.insert(handle, behind);
            }
        }
        resolve(direct, through)
    }

    /// Whether a step takes something away, be it as part of a deployment.
    pub(super) fn removes(&self, step: StepId) -> bool {
        match self.plan.steps[step].group {
            Some(group) => matches!(&*self.plan.groups[group].workflow, "undeploy" | "stop"),
            None => matches!(
                self.options.goal.workflow,
                Workflow::Undeploy | Workflow::Stop
            ),
        }
    }

    /// What must not run at the same time as others of the same key: instances hosted on the same
    /// node.
    pub(super) fn exclusive_key(&self, step: StepId) -> Option<Handle> {
        let instance = self.unit_instance(step);
        let ancestors = self.topology.ancestors(instance);
        (ancestors.len() > 2).then(|| ancestors[ancestors.len() - 2])
    }

    /// Marks a step as done, for the queue and for those that read what it sets.
    pub(super) fn finish_step(&mut self, step: StepId) {
        if !std::mem::replace(&mut self.done[step], true) {
            self.queue.done(step);
            if let Some(group) = self.plan.steps[step].group
                && self.is_settled(group)
            {
                self.settled_groups.push(group);
            }
            if let Some(open) = self.producers.get_mut(&self.targets[step]) {
                open.retain(|other| *other != step);
            }
        }
    }
}

/// The first step in the queue, and the first of those that come before any late one.
fn firsts(steps: &[StepId], place: &HashMap<StepId, usize>) -> Vec<StepId> {
    steps
        .iter()
        .copied()
        .min_by_key(|step| place[step])
        .into_iter()
        .collect()
}
