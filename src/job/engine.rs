//! The coordinator: owns the topology and the tasks of a job, and is the only one to change them.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::error::Error;
use super::event::{Event, Level};
use super::options::JobOptions;
use super::problem::explain;
use super::task::{Task, TaskIndex};
use super::world::{Keys, Places};
use crate::dag::ReadyQueue;
use crate::expr::{Evaluator, Memo, Read, World};
use crate::name::{ChangeId, Status, TaskNumber};
use crate::plan::{Activity, Plan, StepId, Target};
use crate::secret::DigestKey;
use crate::task::Configurator;
use crate::topology::Topology;
use crate::value::{Handle, Map, Value};

/// Finds the configurator of an operation and completes its inputs.
pub type Choose = fn(&crate::tosca::Operation) -> Result<(Arc<dyn Configurator>, Map), String>;

/// What an earlier job recorded of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastOperation {
    /// The id of that task.
    pub id: Option<ChangeId>,
    /// Upstream's keys, in order.
    pub digest_keys: Vec<String>,
    /// Upstream's digest.
    pub digest_value: String,
    /// The attributes it set.
    pub digest_put: Vec<String>,
    /// What it read, exactly; empty where only upstream's fields exist.
    pub exact_keys: Vec<String>,
    /// Our digest.
    pub exact_value: String,
    /// What it read of secrets.
    pub secret_keys: Vec<String>,
    /// The keyed digest of that.
    pub secret_value: String,
    /// The id of the key.
    pub secret_key: String,
}

/// What is left of jobs that were cut off on an entity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CutOff {
    /// The operation of which nobody knows whether it has done its work, with the id of its record.
    pub in_doubt: Option<(String, ChangeId)>,
    /// The operations that have done their work, while others that belong to them have not begun.
    pub half_done: Vec<String>,
}

/// What the record of a task says that it has read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// Its inputs, evaluated.
    pub inputs: Map,
    /// The values of attributes by their keys, such as `::web::port`.
    pub reads: Map,
}

/// Looks up what was recorded last of an operation on an entity, by its key.
pub trait History {
    /// The last record of an operation.
    fn last(&self, target: &str, operation: &str) -> Option<LastOperation>;

    /// Whether anything is left of jobs that were cut off.
    fn has_cut_off(&self) -> bool {
        false
    }

    /// What is left of jobs that were cut off.
    fn cut_off(&self, _target: &str) -> Option<&CutOff> {
        None
    }

    /// What a task has read; none if nothing is on record, and why if that cannot be read. It is
    /// asked for only where something has changed.
    fn recorded(&self, _change: ChangeId) -> Result<Option<Recorded>, String> {
        Ok(None)
    }
}

/// The coordinator of one job.
pub struct Engine {
    /// How the job is run.
    pub options: JobOptions,
    /// What exists; changed here only.
    pub topology: Arc<Topology>,
    /// What is to be done.
    pub plan: Plan,
    /// All tasks: one for each step that runs an operation, then subtasks.
    pub tasks: Vec<Task>,
    /// Tasks in the order in which the summary and the record list them.
    pub work: Vec<TaskIndex>,
    /// The node templates that tasks have added, by name, raw.
    pub discovered: Map,
    /// The signal that ended the job early.
    pub interrupted: Option<i32>,
    /// Whether the job was given up, and why.
    pub aborted: Option<String>,
    pub(super) world: Arc<dyn World>,
    pub(super) memo: Arc<Memo>,
    pub(super) choose: Choose,
    pub(super) history: Box<dyn History>,
    pub(super) keys: Box<dyn Keys>,
    pub(super) places: Box<dyn Places>,
    /// The status on record of those that the plan gives another one to begin with.
    pub(super) recorded: HashMap<Handle, Option<Status>>,
    /// The key for the digests of secrets that this job records.
    pub(super) digest_key: Option<Arc<DigestKey>>,
    /// Entities that read secrets of which nobody can tell whether they have changed.
    pub(super) untold: RefCell<BTreeSet<Handle>>,
    /// The task of each step; none for steps that set a state.
    pub(super) task_of: Vec<Option<TaskIndex>>,
    /// What each step is applied to.
    pub(super) targets: Vec<Handle>,
    /// The steps that act on an entity and have not ended.
    pub(super) producers: HashMap<Handle, Vec<StepId>>,
    /// Whether any attribute is a secret that the record does not hold.
    pub(super) withholds: bool,
    /// The relationships of which an operation has failed.
    pub(super) broken: HashSet<Handle>,
    pub(super) done: Vec<bool>,
    /// The steps that a deferred step waits for.
    pub(super) waiting: HashMap<StepId, Vec<StepId>>,
    /// Steps that go on with what there is, since what they wait for waits for them.
    pub(super) released: HashSet<StepId>,
    /// The live attributes that a deferred step read, with their values then.
    pub(super) awaited: HashMap<StepId, Vec<super::render::Awaited>>,
    /// The tasks whose target was made from other properties than those of the model now, and one
    /// of these in words.
    pub(super) outdated: HashMap<TaskIndex, String>,
    /// The instances that tasks have added and nothing was planned for yet, task by task.
    pub(super) added: Vec<Vec<Handle>>,
    /// How often they were planned for.
    pub(super) rounds: usize,
    /// Operations whose recorded reads are as they were, until that is settled.
    pub(super) unchanged: Vec<super::undecided::Unchanged>,
    /// Those of them that are compared again when their turn comes.
    pub(super) undecided: HashSet<StepId>,
    pub(super) queue: ReadyQueue<StepId>,
    pub(super) finished: TaskNumber,
    /// Whether groups run, as far as that is known.
    pub(super) admissions: HashMap<crate::plan::GroupId, super::admission::Admission>,
    pub(super) events: Vec<Event>,
    pub(super) started: usize,
    /// The groups of which all steps are done, until somebody asks.
    pub(super) settled_groups: Vec<crate::plan::GroupId>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("tasks", &self.tasks.len())
            .finish_non_exhaustive()
    }
}

/// What an engine is made of, besides the plan.
pub struct Parts {
    /// What exists.
    pub topology: Topology,
    /// Bounded reads of this machine.
    pub world: Arc<dyn World>,
    /// Finds configurators.
    pub choose: Choose,
    /// What earlier jobs recorded.
    pub history: Box<dyn History>,
    /// The keys for digests of secrets.
    pub keys: Box<dyn Keys>,
    /// How machines are reached.
    pub places: Box<dyn Places>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parts")
    }
}

impl Engine {
    /// An engine with nothing to do yet; it can be asked what has changed.
    pub fn new(parts: Parts, options: JobOptions) -> Self {
        let withholds = parts.topology.withholds();
        Self {
            options,
            topology: Arc::new(parts.topology),
            tasks: Vec::new(),
            work: Vec::new(),
            aborted: None,
            discovered: Map::new(),
            interrupted: None,
            world: parts.world,
            memo: Arc::default(),
            choose: parts.choose,
            history: parts.history,
            keys: parts.keys,
            places: parts.places,
            recorded: HashMap::new(),
            digest_key: None,
            untold: RefCell::default(),
            task_of: Vec::new(),
            targets: Vec::new(),
            producers: HashMap::new(),
            withholds,
            broken: HashSet::new(),
            done: Vec::new(),
            waiting: HashMap::new(),
            released: HashSet::new(),
            awaited: HashMap::new(),
            outdated: HashMap::new(),
            added: Vec::new(),
            rounds: 0,
            unchanged: Vec::new(),
            undecided: HashSet::new(),
            queue: ReadyQueue::default(),
            finished: 0,
            admissions: HashMap::new(),
            events: Vec::new(),
            started: 0,
            settled_groups: Vec::new(),
            plan: Plan::default(),
        }
    }

    /// Takes on a plan: makes its drafts part of the topology and a task of each of its steps.
    pub fn adopt(&mut self, plan: Plan) -> Result<(), Error> {
        for (name, _) in &plan.statuses {
            if let Some(of) = self.topology.find(name.as_str()) {
                self.recorded.insert(of, self.topology.entity(of).local);
            }
        }
        add_drafts(self.topology_mut(), &plan);
        self.done = vec![false; plan.steps.len()];
        self.plan = plan;
        for step in 0..self.plan.steps.len() {
            self.add_task_of(step)?;
        }
        self.tell_skipped();
        Ok(())
    }

    fn tell_skipped(&mut self) {
        for (name, why) in std::mem::take(&mut self.plan.skipped) {
            self.say(Level::Verbose, format!("`{name}` is left alone: {why}"));
            self.plan.skipped.push((name, why));
        }
    }

    pub(super) fn add_task_of(&mut self, id: StepId) -> Result<(), Error> {
        let step = self.plan.steps[id].clone();
        let target = self.resolve(&step.target)?;
        self.targets.push(target);
        self.producers.entry(target).or_default().push(id);
        let Activity::Operation {
            reference,
            operation,
        } = &step.activity
        else {
            self.task_of.push(None);
            return Ok(());
        };
        let mut task = self.make_task(target, reference.clone(), Arc::clone(operation), None);
        task.reason = step.reason;
        task.start_state = step.start_state;
        task.group = step.group;
        task.is_final = step.is_final;
        task.step = Some(id);
        if step.critical {
            task.priority = crate::name::Priority::Critical;
        }
        self.set_task_variables(&mut task);
        self.task_of.push(Some(self.tasks.len()));
        self.tasks.push(task);
        Ok(())
    }

    fn resolve(&self, target: &Target) -> Result<Handle, Error> {
        let find = |name: &str| {
            let root = || (name == "root").then(|| self.topology.root());
            let found = self.topology.find(name).or_else(root);
            found.ok_or_else(|| Error::UnknownInstance(name.to_owned()))
        };
        match target {
            Target::Node(name) => find(name.as_str()),
            Target::Relationship { source, place } => {
                let handle = find(source.as_str())?;
                let node = self.topology.entity(handle).node();
                let found = node.and_then(|node| node.requirements.get(*place)).copied();
                found.ok_or_else(|| Error::UnknownInstance(source.to_string()))
            }
        }
    }

    /// An evaluator over the topology as it is now. It must be dropped before the next change.
    pub(super) fn evaluator(&self) -> Evaluator {
        let scope = Arc::clone(&self.topology);
        Evaluator::new(scope, Arc::clone(&self.world), Arc::clone(&self.memo))
    }

    /// An evaluator for a task: the artifact that it executes sees the task's variables.
    pub(super) fn evaluator_for(&self, index: TaskIndex) -> Evaluator {
        let task = &self.tasks[index];
        match task.artifact {
            Some(artifact) => self.evaluator().around(artifact, &task.context),
            None => self.evaluator(),
        }
    }

    /// The topology, to be changed. Evaluators are short-lived, so that nobody else holds it.
    pub(super) fn topology_mut(&mut self) -> &mut Topology {
        Arc::get_mut(&mut self.topology)
            .expect("evaluators are dropped before the topology changes")
    }

    /// Lists a task in the summary and the record, once.
    pub(super) fn list(&mut self, index: TaskIndex) {
        if !std::mem::replace(&mut self.tasks[index].listed, true) {
            self.work.push(index);
        }
    }

    pub(super) fn say(&mut self, level: Level, text: impl Into<String>) {
        self.events.push(Event::Message {
            level,
            text: text.into(),
        });
    }

    /// Whether no task is left to run.
    pub fn has_nothing_to_do(&self) -> bool {
        (0..self.plan.steps.len()).all(|step| match self.task_of[step] {
            None => false,
            Some(task) => {
                self.tasks[task].stage == super::task::Stage::Skipped
                    || !self.includes(task)
                    || self.is_conditional(step)
            }
        })
    }

    /// The task of a step; none for steps that set a state.
    pub fn task_of(&self, step: StepId) -> Option<TaskIndex> {
        self.task_of.get(step).copied().flatten()
    }

    /// The entity that a step is applied to.
    pub fn target_of(&self, step: StepId) -> Option<Handle> {
        self.targets.get(step).copied()
    }

    /// The instances of which tasks changed more than their own record, or on which an operation of
    /// the life cycle ran, in words.
    pub fn changed_instances(&self) -> Vec<String> {
        let mut changed = indexmap::IndexSet::new();
        for task in self.work.iter().map(|index| &self.tasks[*index]) {
            let outcome = task.outcome.as_ref();
            let own = outcome.is_some_and(|it| it.status.is_some() || it.modified == Some(true));
            let lives = task.reference.interface.as_str() == "Standard" && !task.blocked;
            let own = (own || lives).then_some(task.target);
            let others = task
                .changes
                .iter()
                .filter(|(_, changes)| !changes.is_empty());
            changed.extend(own.into_iter().chain(others.map(|(of, _)| *of)));
        }
        let name = |of: &Handle| format!("`{}`", self.topology.entity(*of).name);
        changed.iter().map(name).collect()
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The id of the job.
    pub fn id(&self) -> Result<ChangeId, Error> {
        Ok(ChangeId::job(self.options.start)?)
    }

    /// The status of the job: the worst of its tasks.
    pub fn status(&self) -> Status {
        if self.aborted.is_some() {
            return Status::Error;
        }
        let failed = self.work.iter().any(|task| self.tasks[*task].has_failed());
        if failed { Status::Error } else { Status::Ok }
    }

    /// The outputs of the topology, evaluated now; one that cannot be is told and null.
    pub fn outputs(&mut self) -> Map {
        self.checked_outputs().0
    }

    /// The outputs, and whether one of them could not be evaluated.
    pub fn checked_outputs(&mut self) -> (Map, bool) {
        let names: Vec<_> = self.topology.template().outputs.keys().cloned().collect();
        let (mut outputs, mut failed) = (Map::new(), false);
        for name in names {
            match self.output(&name) {
                Ok(value) => drop(outputs.insert(name, value)),
                Err(error) => {
                    failed = true;
                    let text = format!("output `{name}` cannot be evaluated: {error}");
                    let nowhere = |_: &str| crate::diagnostic::Span::NONE;
                    let problem = explain(&self.topology, text, &error, &nowhere);
                    self.tell(problem);
                    outputs.insert(name, Value::Null);
                }
            }
        }
        (outputs, failed)
    }

    fn output(&mut self, name: &str) -> Result<Value, crate::expr::Error> {
        let evaluator = self.evaluator();
        let value = evaluator.attribute(self.topology.outputs(), name);
        let reads = evaluator.take_reads();
        let context = crate::expr::Context::new(self.topology.root());
        let value = evaluator.unquote(&value?.unwrap_or_default(), &context);
        drop(evaluator);
        self.observe(&reads);
        value
    }

    /// What an expression gives in the topology as it is now, and the attributes that it read with
    /// their values: none if `depth` is 0, those that it names if 1, those that they are computed
    /// from as well if more.
    pub fn query(
        &self,
        expression: &str,
        depth: u8,
    ) -> Result<(Value, Vec<(String, Value)>), crate::expr::Error> {
        const MOST_READS: usize = 1000;
        let evaluator = self.evaluator();
        let context = crate::expr::Context::new(self.topology.root());
        let mut results = evaluator.query(&Value::from(expression), &context)?;
        let reads = evaluator.take_reads();
        let found = match results.len() {
            0 => Value::Null,
            1 => results.remove(0),
            _ => Value::from(results),
        };
        let named = |of, name: &str| self.attribute_key(of, name);
        let mut told: Vec<(String, Value)> = match depth {
            0 => Vec::new(),
            1 => {
                let direct = reads.iter().filter_map(|(read, value)| match read {
                    Read::Attribute { of, name } => Some((named(*of, name)?, value.clone())),
                    _ => None,
                });
                direct.collect()
            }
            _ => {
                let all = evaluator.closure(&reads, MOST_READS).into_iter();
                all.filter_map(|(of, name, value)| Some((named(of, &name)?, value)))
                    .collect()
            }
        };
        for (_, value) in &mut told {
            *value = value.redacted();
        }
        Ok((found, told))
    }

    /// The inputs of the topology, evaluated.
    pub fn inputs(&self) -> Map {
        self.values_of(self.topology.inputs())
    }

    /// The inputs and outputs of the nested topology with this root, evaluated.
    pub fn nested_values(&self, root: Handle) -> (Map, Map) {
        let inputs = self.values_of(self.topology.inputs_of(root));
        (inputs, self.values_of(self.topology.outputs_of(root)))
    }

    fn values_of(&self, handle: Handle) -> Map {
        let evaluator = self.evaluator();
        let names: Vec<_> = self
            .topology
            .entity(handle)
            .attributes
            .keys()
            .cloned()
            .collect();
        let values = names.into_iter().filter_map(|name| {
            let value = evaluator.attribute(handle, &name).ok().flatten()?;
            Some((name, value))
        });
        values.collect()
    }
}

fn add_drafts(topology: &mut Topology, plan: &Plan) {
    for draft in &plan.drafts {
        let Some(template) = topology.template().nodes.get(&draft.template).cloned() else {
            continue;
        };
        let parent = draft
            .parent
            .as_ref()
            .and_then(|parent| topology.find(parent.as_str()));
        let parent = parent.unwrap_or_else(|| topology.root());
        topology.add_node(draft.name.clone(), template, parent, Some(draft.status));
    }
    for (name, status) in &plan.statuses {
        if let Some(handle) = topology.find(name.as_str()) {
            topology.set_local(handle, Some(*status));
        }
    }
}
