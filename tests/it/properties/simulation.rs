//! Crash simulation. A simulated runner deploys random service templates, completes effects in random order
//! and interrupts the job at any event. After each interruption the record must be true, and the final state
//! must be that of an undisturbed deploy.
//!
//! The engine and the ensemble are the real ones. An interruption unwinds the job, so no part of the job runs
//! on and no record is published. `UNFURL_PROPERTY_CASES` is the number of templates.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use proptest::prelude::{TestCaseError, any, proptest};
use unfurl::testing::host::Command;
use unfurl::testing::job::JobEvent;
use unfurl::testing::plan::{JobGoal, WorkflowKind};

use super::config;
use super::lab::Lab;
use super::model::{Directive, Model, Op};
use super::performer::{Chance, Script, Simulated};
use super::picks;

/// The environment variable that identifies an effect.
const KEY: &str = "_UNFURL_IDEMPOTENCY_KEY";
/// The number of interruptions before the job may end.
const CUTS: usize = 3;

/// The simulated world that effects change, and the events that the job has reported.
#[derive(Debug)]
struct World {
    chance: Chance,
    /// How many times each effect was performed, by key.
    performed: BTreeMap<String, usize>,
    /// The keys of effects that have begun and whose end is not reported yet, by number.
    open: BTreeMap<u64, String>,
    /// The keys of effects, by number.
    keys: BTreeMap<u64, String>,
    /// The keys of effects whose task has reported its end.
    reported: BTreeSet<String>,
    /// The targets of started tasks. `ended` has those of finished tasks.
    started: BTreeSet<String>,
    ended: BTreeSet<String>,
    /// The number of events until the job is interrupted. None: no interruption.
    left: Option<usize>,
}

/// The panic payload that marks an interruption.
struct Cut;

impl World {
    /// Counts an event, and interrupts the job if no event is left.
    fn count_event(&mut self) {
        match &mut self.left {
            Some(0) => {
                // An effect that is running at the interruption may still complete, or not.
                for key in std::mem::take(&mut self.open).into_values() {
                    if self.chance.below(2) == 0 {
                        *self.performed.entry(key).or_default() += 1;
                    }
                }
                resume_unwind(Box::new(Cut));
            }
            Some(left) => *left -= 1,
            None => {}
        }
    }
}

impl Script for World {
    fn chance(&mut self) -> &mut Chance {
        &mut self.chance
    }

    fn begins(&mut self, id: u64, command: &Command) {
        let key = command.env.get(KEY).unwrap().to_owned();
        self.count_event();
        self.keys.insert(id, key.clone());
        self.open.insert(id, key);
        self.count_event();
    }

    fn waits(&mut self) {
        self.count_event();
    }

    fn ends(&mut self, id: u64) -> i32 {
        let key = self.open.remove(&id).unwrap();
        *self.performed.entry(key).or_default() += 1;
        self.count_event();
        0
    }

    fn handle_event(&mut self, event: &JobEvent) {
        match event {
            JobEvent::TaskStarted(started) => {
                self.started.insert(started.target.key.to_string());
            }
            JobEvent::TaskFinished(finished) => {
                let key = self.keys.get(&(finished.task as u64 - 1)).cloned();
                self.reported.extend(key);
                self.ended.insert(finished.target.key.to_string());
            }
            _ => {}
        }
        self.count_event();
    }
}

/// A copy of the model without checks and discovery, because a simulated effect always gives the same answer.
fn without_checks(model: &Model) -> Model {
    let mut model = model.clone();
    for node in &mut model.nodes {
        node.own
            .retain(|(op, _)| !matches!(op, Op::Check | Op::Discover));
        if matches!(node.directive, Some(Directive::Check | Directive::Discover)) {
            node.directive = None;
        }
    }
    model
}

fn goal() -> (JobGoal, usize) {
    let goal = JobGoal {
        workflow: WorkflowKind::Deploy,
        redo_in_doubt: true,
        ..JobGoal::default()
    };
    (goal, 3)
}

/// Deploys in a world. Returns whether the job was interrupted.
fn deploys(lab: &mut Lab, world: &Rc<RefCell<World>>, left: Option<usize>) -> Result<bool, String> {
    {
        let mut world = world.borrow_mut();
        world.left = left;
        world.keys.clear();
        world.started.clear();
        world.ended.clear();
    }
    let mut view = Simulated::new(world);
    let ran = catch_unwind(AssertUnwindSafe(|| lab.run(goal(), &mut view)));
    match ran {
        Ok(Ok(_)) => Ok(false),
        Ok(Err(failure)) => Err(format!("{failure}\n{}", lab.text())),
        Err(cut) if cut.is::<Cut>() => Ok(true),
        Err(panic) => resume_unwind(panic),
    }
}

fn world(seed: u64) -> Rc<RefCell<World>> {
    Rc::new(RefCell::new(World {
        chance: Chance(seed),
        performed: BTreeMap::new(),
        open: BTreeMap::new(),
        keys: BTreeMap::new(),
        reported: BTreeSet::new(),
        started: BTreeSet::new(),
        ended: BTreeSet::new(),
        left: None,
    }))
}

/// Checks that, after an interruption, the record knows every instance that may exist.
fn check_record(lab: &Lab, world: &World) -> Result<(), String> {
    lab.recover()
        .map_err(|failure| format!("{failure}\n{}", lab.text()))?;
    for target in world.started.union(&world.ended) {
        // Relationships have no record of their own.
        let Some(name) = target.strip_prefix("::").filter(|n| !n.contains("::")) else {
            continue;
        };
        let name = name.split('.').next().unwrap_or(name);
        let status = lab.local(name);
        let known = matches!(
            status.as_deref(),
            Some("ok" | "unknown" | "degraded" | "error" | "pending")
        );
        if !known {
            return Err(format!(
                "`{name}` may exist and is recorded as {status:?}\n{}",
                lab.text()
            ));
        }
    }
    Ok(())
}

fn survives(model: &Model, seed: u64) -> Result<(), String> {
    let model = without_checks(model);
    let mut undisturbed = Lab::new(&model.text());
    let quiet = world(seed);
    deploys(&mut undisturbed, &quiet, None)?;
    let wanted = undisturbed.statuses();

    let mut lab = Lab::new(&model.text());
    let world = world(seed);
    let mut told = BTreeMap::new();
    for _ in 0..CUTS {
        let left = world.borrow_mut().chance.below(40);
        if !deploys(&mut lab, &world, Some(left))? {
            break;
        }
        let world = world.borrow();
        check_record(&lab, &world)?;
        for key in &world.reported {
            told.entry(key.clone()).or_insert(world.performed[key]);
        }
    }
    deploys(&mut lab, &world, None)?;
    let world = world.borrow();
    for (key, times) in &told {
        if world.performed[key] != *times {
            return Err(format!(
                "an effect whose end was told was performed again\n{}",
                lab.text()
            ));
        }
    }
    let again: usize = world.performed.values().map(|times| times - 1).sum();
    if again > CUTS * goal().1 {
        return Err(format!(
            "{again} effects were performed again\n{}",
            lab.text()
        ));
    }
    let found = lab.statuses();
    let names: BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
    // An instance without operations is recorded only by the next job that runs a task.
    let idle = |name: &String| {
        let was = wanted
            .get(name)
            .is_some_and(|was| was.starts_with("\"pending\""));
        was && !found.contains_key(name)
    };
    let differ = names
        .into_iter()
        .filter(|name| wanted.get(*name) != found.get(*name) && !idle(name));
    let differ: Vec<String> = differ
        .map(|name| {
            format!(
                "{name}: {:?} and not {:?}",
                found.get(name),
                wanted.get(name)
            )
        })
        .collect();
    if !differ.is_empty() {
        return Err(format!("{}\n{}", differ.join("\n"), lab.text()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(5))]
    #[test]
    fn any_topology_survives_cuts_at_any_event(model in picks::models(), seed in any::<u64>()) {
        survives(&model, seed).map_err(TestCaseError::fail)?;
    }
}
