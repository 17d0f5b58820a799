//! The coordinator of a job. [`Engine`] owns the topology and the tasks, and is the only one to change
//! them.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::evaluation::{ChooseConfigurator, Evaluation, JobContext};
use super::event::Error;
use super::event::{InstanceChange, JobEvent, JobFacts, JobStart, LogLevel};
use super::history::OperationHistory;
use super::ledger::Ledger;
use super::options::{JobOptions, Recording};
use super::plan_steps::{JobSteps, StepTable};
use super::ports::{DigestKeyProvider, FolderKey, HostLocator};
use super::problem::explain_error;
use super::schedule::{ExclusiveNodes, Scheduler};
use super::task::TaskIndex;
use crate::expr::{RequestedWrites, SystemContext};
use crate::name::{ChangeId, Priority, Status};
use crate::plan::{Plan, StepActivity, StepId, StepTarget};
use crate::task::{SavedPlan, StateCipher, TaskEffect};
use crate::topology::{Topology, snapshot};
use crate::value::{Handle, Map, Secrets, Value};

/// The coordinator of one job: owns its topology, plan, tasks and scheduler.
pub struct Engine {
    pub options: JobOptions,
    /// The current topology. Only the engine changes it.
    pub topology: Arc<Topology>,
    pub plan: Plan,
    pub(super) context: JobContext,
    pub(super) steps: StepTable,
    pub(super) scheduler: Scheduler,
    pub(super) ledger: Ledger,
    pub(super) execution: Execution,
    /// How much of the job is recorded. Set when the job starts.
    pub(super) recording: Recording,
    /// Further fields of the job's record. Set when the job starts.
    pub(super) facts: JobFacts,
    /// The recorded statuses of entities that the plan starts with another status.
    pub(super) recorded_statuses: HashMap<Handle, Option<Status>>,
    /// Entities that read secrets for which it is unknown whether they have changed.
    pub(super) unknown_secrets: BTreeSet<Handle>,
    /// The secrets that tasks have read, as far as they have run.
    pub(super) secrets: Secrets,
    /// The relationships for which an operation has failed.
    pub(super) broken_relationships: HashSet<Handle>,
    /// Instances that stay, each with the instance that needs it and whose removal cannot be rendered.
    pub(super) kept: HashMap<Handle, Handle>,
    /// Instances that tasks have added and that are not planned for yet, per task.
    pub(super) added_instances: Vec<Vec<Handle>>,
    /// The files that the environment's variables request, until the first task runs.
    pub(super) environment_writes: RequestedWrites,
    /// The number of rounds of planning for added instances.
    pub(super) added_rounds: usize,
    /// The plans that tools have saved, by the target of the task. The next task of the target uses or drops its plan.
    pub(super) saved_plans: HashMap<Handle, SavedPlan>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("tasks", &self.ledger.tasks.len())
            .finish_non_exhaustive()
    }
}

/// The parts that an engine is made of, besides the plan.
pub struct EngineParts {
    pub topology: Topology,
    /// Access to this machine, for bounded reads.
    pub local_context: Arc<dyn SystemContext>,
    /// Selects the configurator of an operation.
    pub choose: ChooseConfigurator,
    pub history: Box<dyn OperationHistory>,
    /// The keys for digests of secrets.
    pub keys: Box<dyn DigestKeyProvider>,
    pub host_locator: Box<dyn HostLocator>,
    /// The cipher for the states of tools.
    pub states: Box<dyn StateCipher>,
    /// The files that the environment's variables request.
    pub environment_writes: RequestedWrites,
}

impl std::fmt::Debug for EngineParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parts")
    }
}

impl Engine {
    /// Creates an engine without a plan. Its topology can be queried and compared.
    pub fn new(parts: EngineParts, options: JobOptions) -> Self {
        let has_redacted = parts.topology.has_redacted();
        Self {
            options,
            topology: Arc::new(parts.topology),
            plan: Plan::default(),
            context: JobContext {
                local_context: parts.local_context,
                memo: Arc::default(),
                choose: parts.choose,
                history: parts.history,
                keys: parts.keys,
                host_locator: parts.host_locator,
                states: parts.states,
                digest_key: None,
                has_redacted,
            },
            steps: StepTable::default(),
            scheduler: Scheduler::default(),
            ledger: Ledger::default(),
            execution: Execution::default(),
            recording: Recording::default(),
            facts: JobFacts::default(),
            recorded_statuses: HashMap::new(),
            unknown_secrets: BTreeSet::new(),
            secrets: Secrets::default(),
            broken_relationships: HashSet::new(),
            kept: HashMap::new(),
            added_instances: Vec::new(),
            environment_writes: parts.environment_writes,
            added_rounds: 0,
            saved_plans: HashMap::new(),
        }
    }

    /// Returns a view for evaluating expressions in the current topology.
    pub(super) fn evaluation(&self) -> Evaluation<'_> {
        Evaluation {
            topology: &self.topology,
            plan: &self.plan,
            options: &self.options,
            context: &self.context,
            saved_plans: Some(&self.saved_plans),
        }
    }

    /// Returns a view of the plan's steps in their current state.
    pub(super) fn job_steps(&self) -> JobSteps<'_> {
        JobSteps {
            evaluation: self.evaluation(),
            table: &self.steps,
            ledger: &self.ledger,
        }
    }

    /// Returns the scheduler for changes, and a view of the plan's steps.
    pub(super) fn schedule(&mut self) -> (&mut Scheduler, JobSteps<'_>) {
        let evaluation = Evaluation {
            topology: &self.topology,
            plan: &self.plan,
            options: &self.options,
            context: &self.context,
            saved_plans: Some(&self.saved_plans),
        };
        let steps = JobSteps {
            evaluation,
            table: &self.steps,
            ledger: &self.ledger,
        };
        (&mut self.scheduler, steps)
    }

    /// Adopts a plan: adds its drafts to the topology and creates a task for each step.
    pub fn adopt_plan(&mut self, plan: Plan) -> Result<(), Error> {
        for (name, _) in &plan.statuses {
            if let Some(of) = self.topology.find(name.as_str()) {
                self.recorded_statuses
                    .insert(of, self.topology.entity(of).local);
            }
        }
        add_drafts(self.topology_mut(), &plan);
        self.plan = plan;
        for step in 0..self.plan.steps.len() {
            self.add_task_of(step)?;
        }
        for (name, why) in &self.plan.skipped {
            let text = format!("`{name}` is not changed: {why}");
            self.ledger.log(LogLevel::Verbose, text);
        }
        Ok(())
    }

    pub(super) fn add_task_of(&mut self, id: StepId) -> Result<(), Error> {
        let step = self.plan.steps[id].clone();
        let target = self.resolve(&step.target)?;
        self.steps.targets.push(target);
        self.scheduler.add_step(target);
        let StepActivity::Operation {
            reference,
            operation,
        } = &step.activity
        else {
            self.steps.tasks.push(None);
            return Ok(());
        };
        let evaluation = self.evaluation();
        let operation = Arc::clone(operation);
        let mut task = evaluation.make_task(target, reference.clone(), operation, None);
        task.spec.reason = step.reason;
        task.spec.start_state = step.start_state;
        task.spec.group = step.group;
        task.spec.is_final = step.is_final;
        task.spec.step = Some(id);
        task.spec.check_only = self.plan.tests.contains(&id);
        if step.critical {
            task.spec.priority = Priority::Critical;
        }
        evaluation.set_task_variables(&mut task);
        let index = self.ledger.add(task);
        self.steps.tasks.push(Some(index));
        Ok(())
    }

    fn resolve(&self, target: &StepTarget) -> Result<Handle, Error> {
        let find = |name: &str| {
            let root = || (name == "root").then(|| self.topology.root());
            let found = self.topology.find(name).or_else(root);
            found.ok_or_else(|| Error::UnknownInstance(name.to_owned()))
        };
        match target {
            StepTarget::Node(name) => find(name.as_str()),
            StepTarget::Relationship {
                source,
                requirement_index: place,
            } => {
                let handle = find(source.as_str())?;
                let node = self.topology.entity(handle).node();
                let found = node.and_then(|node| node.requirements.get(*place)).copied();
                found.ok_or_else(|| Error::UnknownInstance(source.to_string()))
            }
        }
    }

    /// Returns the topology for changes.
    ///
    /// No view of it may be alive, otherwise the whole topology would be copied.
    pub(super) fn topology_mut(&mut self) -> &mut Topology {
        debug_assert!(
            Arc::get_mut(&mut self.topology).is_some(),
            "a view of the topology exists while the topology changes"
        );
        Arc::make_mut(&mut self.topology)
    }

    pub(super) fn log(&mut self, level: LogLevel, text: impl Into<String>) {
        self.ledger.log(level, text);
    }

    /// Whether no task is left to run.
    pub fn has_no_work(&self) -> bool {
        let steps = self.job_steps();
        (0..self.plan.steps.len()).all(|step| match self.steps.tasks[step] {
            None => false,
            Some(task) => {
                self.ledger.tasks[task].is_skipped()
                    || !steps.includes(task)
                    || steps.is_conditional(step)
            }
        })
    }

    /// Whether the job was given up before it started, because of errors during rendering.
    pub fn is_aborted(&self) -> bool {
        self.ledger.aborted.is_some()
    }

    /// Returns the signal that ended the job early.
    pub fn interrupted(&self) -> Option<i32> {
        self.ledger.interrupted
    }

    /// Records a signal that ends the job before any task runs.
    pub fn interrupt(&mut self, signal: Option<i32>) {
        self.ledger.interrupted = signal;
    }

    /// Returns the task of a step. None for steps that set a state.
    pub fn task_of(&self, step: StepId) -> Option<TaskIndex> {
        self.steps.tasks.get(step).copied().flatten()
    }

    /// Whether a task is part of the job. Tasks of `default` templates are not until a required template
    /// needs them.
    pub fn includes(&self, task: TaskIndex) -> bool {
        self.job_steps().includes(task)
    }

    /// Returns the key of a task's folders.
    pub fn folder_key(&self, index: TaskIndex) -> FolderKey {
        self.evaluation().folder_key(&self.ledger.tasks[index])
    }

    /// Returns a task's name for messages.
    pub fn label(&self, index: TaskIndex) -> String {
        self.evaluation().label(&self.ledger.tasks[index])
    }

    /// Takes the events since the last call.
    ///
    /// If the job is journaled, the changes of instances and groups that came with tasks are included.
    pub fn take_events(&mut self) -> Vec<JobEvent> {
        let mut events = self.ledger.take_events();
        let is_progress = events.iter().any(JobEvent::is_progress);
        if !is_progress || self.recording != Recording::Journal {
            return events;
        }
        events.extend(self.ledger.take_added_templates());
        let groups = self.scheduler.take_settled_groups();
        if !groups.is_empty() {
            events.push(JobEvent::GroupsSettled(groups));
        }
        let touched = self.topology_mut().take_touched();
        events.extend(touched.into_iter().map(|of| {
            JobEvent::InstanceChanged(InstanceChange {
                record_path: self.topology.record_path(of),
                record: snapshot(&self.topology, of),
            })
        }));
        events
    }

    /// Returns the first event of the journal, which describes the job.
    pub fn job_start(&self) -> Result<JobStart, Error> {
        let before = &self.options.goal.resumed.planned;
        let planned = if before.is_empty() {
            self.planned_operations()
        } else {
            // The job resumes another one and keeps its plan.
            before.clone()
        };
        Ok(JobStart {
            head: self.head()?,
            // The id of a job that directly follows another may be slightly in the future.
            started: self.context.local_context.now().max(self.options.start),
            steps: self.scheduler.remaining(),
            goal: self.options.goal.clone(),
            planned,
        })
    }

    /// Returns the change id of the job.
    pub fn id(&self) -> Result<ChangeId, Error> {
        Ok(ChangeId::job(self.options.start)?)
    }

    /// Returns the status of the job: the worst of its tasks.
    pub fn status(&self) -> Status {
        self.ledger.status()
    }

    /// Evaluates the outputs of the topology, and returns whether any evaluation failed.
    ///
    /// A failed output is reported and becomes null.
    pub(super) fn outputs(&mut self) -> (Map, bool) {
        let names: Vec<_> = self.topology.template().outputs.keys().cloned().collect();
        let (mut outputs, mut failed) = (Map::new(), false);
        for name in names {
            let (value, reads) = self.evaluation().output(&name);
            self.observe(&reads);
            match value {
                Ok(value) => drop(outputs.insert(name, value)),
                Err(error) => {
                    failed = true;
                    let text = format!("output `{name}` cannot be evaluated: {error}");
                    let no_span = |_: &str| crate::diagnostic::Span::NONE;
                    let problem = explain_error(&self.topology, text, &error, &no_span);
                    self.ledger.log_problem(problem);
                    outputs.insert(name, Value::Null);
                }
            }
        }
        (outputs, failed)
    }

    /// Evaluates an expression and traces the attributes that it read.
    ///
    /// The trace is empty if `depth` is 0. It lists the attributes that the expression names if `depth`
    /// is 1, and also those they are computed from if `depth` is larger.
    pub fn query(
        &self,
        expression: &str,
        depth: u8,
    ) -> Result<(Value, Vec<(String, Value)>), crate::expr::Error> {
        self.evaluation().query(expression, depth)
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

/// The running tasks of a job.
#[derive(Debug, Default)]
pub(super) struct Execution {
    /// Tasks with an effect that is being performed.
    pub(super) running: BTreeSet<TaskIndex>,
    /// Effects that are to be performed next.
    pub(super) effects: VecDeque<(TaskIndex, Box<TaskEffect>)>,
    pub(super) exclusive: ExclusiveNodes,
}

impl Execution {
    /// Returns the number of tasks that run or are about to.
    pub(super) fn count(&self) -> usize {
        self.running.len() + self.effects.len()
    }
}
