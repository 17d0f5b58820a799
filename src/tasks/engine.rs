//! The task engine: decides which task runs on which host next.
//!
//! A pure state machine: [`TaskEngine::next`] returns requests, the caller (`fleet::tasks`)
//! performs them and passes the results back. Its methods are spread over `task_batch`,
//! `host_steps`, `step_actions`, `commands` and `replies`.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use slab::Slab;

use super::arguments::TaskArguments;
use super::run_state::{HostTaskRun, PlannedTask, TaskBatch};
use super::task_env::TaskEnv;
use super::template::{TaskRenderer, template_context};
use super::{HostEvent, Task, TaskCall, TaskName, TaskOptions, Tasks};
use crate::expr::Vars;
use crate::host::services::HostServices;
use crate::host::{ActionRequest, Location, Passwords, Question};
use crate::value::{Map, Secrets, Value};

/// A request of the engine. The answer must repeat its id.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineRequest {
    /// Perform an action. [`TaskEngine::complete_action`] takes its result.
    Perform {
        /// The id that the answer repeats.
        id: u64,
        /// The host that the action and its output belong to.
        host: Option<Arc<str>>,
        /// The location and the action to perform.
        request: Box<ActionRequest>,
    },
    /// Ask the user for a secret. [`TaskEngine::answer_secret`] takes it.
    PromptSecret {
        /// The id that the answer repeats.
        id: u64,
        /// The secret that is needed, such as a login password.
        question: Question,
    },
    /// Ask the user a question. [`TaskEngine::answer_prompt`] takes the answer.
    Prompt {
        /// The id that the answer repeats.
        id: u64,
        /// The host that the question is about.
        host: Option<Arc<str>>,
        /// The text of the question, already rendered.
        text: String,
        /// The value of an empty answer.
        default: Option<String>,
        /// Whether the answer must not be shown.
        secret: bool,
    },
}

/// The purpose of a pending reply.
#[derive(Debug)]
pub(super) enum PendingReply {
    /// The result of a step's action, for this run.
    Action(usize),
    /// A secret that an action of this run needs.
    Secret(usize, Question),
    /// The answer to a prompt step of this run.
    Prompt(usize),
    /// The host for a run whose task has none.
    Host(usize),
    /// The end of a pause before this run performs its step again.
    Pause(usize),
    /// The hosts of a role, for a task that is about to start.
    Role(String, Box<PlannedTask>),
}

/// An item of the engine's work queue.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReadyItem {
    /// Start further hosts of a batch, or finish it.
    Batch(usize),
    /// Continue a task on a host.
    Run(usize),
}

/// The state of a run of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// The run goes on: work or replies are left.
    Running,
    /// The run is done, except for tolerated failures.
    Done,
    /// The run has failed, and no further call starts.
    Failed,
    /// The run was ended early by a signal.
    Interrupted,
}

/// The reason why a call cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCall {
    #[error("there is no task `{name}`")]
    Unknown {
        name: String,
        /// A hint at a task with a similar name.
        hint: Option<String>,
    },
    /// The arguments do not fit the parameters.
    #[error("{0}")]
    Arguments(String),
    /// The environment settings cannot be evaluated.
    #[error("{0}")]
    Env(String),
}

/// A run of tasks over hosts.
#[derive(Debug)]
pub struct TaskEngine {
    pub(super) tasks: Tasks,
    pub(super) options: TaskOptions,
    pub(super) services: HostServices,
    pub(super) renderer: TaskRenderer,
    pub(super) passwords: Passwords,
    /// Secret texts, which are redacted in events.
    pub(super) secrets: Secrets,
    /// The calls that have not started.
    calls: VecDeque<PlannedTask>,
    pub(super) envs: Slab<Arc<TaskEnv>>,
    /// The index of the environment of the run itself.
    pub(super) root_env: usize,
    pub(super) batches: Slab<TaskBatch>,
    pub(super) runs: Slab<HostTaskRun>,
    pub(super) ready: VecDeque<ReadyItem>,
    pub(super) pending: HashMap<u64, PendingReply>,
    pub(super) requests: Vec<EngineRequest>,
    pub(super) events: Vec<HostEvent>,
    next_id: u64,
    /// The results of tasks that run once (F27).
    pub(super) once_results: HashMap<TaskName, Value>,
    /// The hosts of roles that are defined by a command.
    pub(super) role_hosts: IndexMap<String, Vec<String>>,
    /// The locations of hosts, by host string and user.
    pub(super) locations: HashMap<(Arc<str>, Option<String>), Location>,
    /// Whether the user was warned that nested tasks multiply.
    pub(super) has_warned_of_multiplying: bool,
    pub(super) state: RunState,
    /// The results of the last call, by host.
    pub(super) results: Map,
    interrupted: bool,
}

impl TaskEngine {
    /// Creates a run of these calls, in order.
    ///
    /// All invalid calls are reported before anything runs (F26). With `skip_unknown_tasks`,
    /// unknown tasks are skipped with a warning.
    pub fn new(
        tasks: Tasks,
        calls: &[TaskCall],
        options: TaskOptions,
        services: HostServices,
    ) -> Result<Self, Vec<InvalidCall>> {
        let mut engine = Self::empty(tasks, options, services);
        engine
            .apply_file_settings()
            .map_err(|problem| vec![problem])?;
        let skips = engine.env().switches.skip_unknown_tasks;
        let mut problems = Vec::new();
        for call in calls {
            let Some(task) = engine.tasks.find(&call.task, "") else {
                let hint = engine.tasks.hint(&call.task);
                let name = call.task.clone();
                if skips {
                    let message = format!("there is no task `{name}`; the call is skipped");
                    engine.events.push(HostEvent::Warning(message));
                } else {
                    problems.push(InvalidCall::Unknown { name, hint });
                }
                continue;
            };
            let task = Arc::clone(task);
            match TaskArguments::of_call(&task, call) {
                Ok(arguments) => engine.queue_call(task, arguments, call),
                Err(problem) => problems.push(InvalidCall::Arguments(problem)),
            }
        }
        if problems.is_empty() {
            Ok(engine)
        } else {
            Err(problems)
        }
    }

    fn empty(tasks: Tasks, options: TaskOptions, services: HostServices) -> Self {
        let mut envs = Slab::new();
        let root_env = envs.insert(Arc::new(TaskEnv::from_options(&options)));
        Self {
            renderer: TaskRenderer::new(Arc::clone(&services.context)),
            passwords: options.passwords.clone(),
            secrets: options.variables.hidden().clone(),
            tasks,
            options,
            services,
            calls: VecDeque::new(),
            envs,
            root_env,
            batches: Slab::new(),
            runs: Slab::new(),
            ready: VecDeque::new(),
            pending: HashMap::new(),
            requests: Vec::new(),
            events: Vec::new(),
            next_id: 0,
            once_results: HashMap::new(),
            role_hosts: IndexMap::new(),
            locations: HashMap::new(),
            has_warned_of_multiplying: false,
            state: RunState::Running,
            results: Map::new(),
            interrupted: false,
        }
    }

    /// Applies the `env` sections of the files in order, then the options of the command line.
    fn apply_file_settings(&mut self) -> Result<(), InvalidCall> {
        let mut env = TaskEnv::from_options(&self.options);
        for settings in &self.tasks.settings {
            let mut vars = Vars::default();
            vars.set("vars", Value::from(env.vars.clone()));
            let context = template_context(vars, &self.options.folder);
            env.apply(settings, &self.renderer, &context)
                .map_err(|error| InvalidCall::Env(format!("`env`: {error}")))?;
        }
        env.override_with(&self.options);
        for value in env.vars.values() {
            self.secrets.gather(value);
        }
        self.envs[self.root_env] = Arc::new(env);
        Ok(())
    }

    /// Returns the calls that have not started.
    pub(super) fn calls(&self) -> impl Iterator<Item = &PlannedTask> {
        self.calls.iter()
    }

    /// Returns the environment of the run itself.
    pub(super) fn env(&self) -> &TaskEnv {
        &self.envs[self.root_env]
    }

    fn queue_call(&mut self, task: Arc<Task>, arguments: TaskArguments, call: &TaskCall) {
        self.calls.push_back(PlannedTask {
            task,
            arguments: Arc::new(arguments),
            scope: call.scope.clone(),
            parent: None,
        });
    }

    /// Adds a call after the others, with extra arguments that need not be texts.
    ///
    /// Secrets in the arguments are redacted in all events.
    pub fn add_call(
        &mut self,
        call: &TaskCall,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<(), InvalidCall> {
        let Some(task) = self.tasks.find(&call.task, "").map(Arc::clone) else {
            let hint = self.tasks.hint(&call.task);
            let name = call.task.clone();
            return Err(InvalidCall::Unknown { name, hint });
        };
        for value in args.iter().chain(kwargs.values()) {
            self.secrets.gather(value);
        }
        let texts = call.args.iter().map(|arg| Value::from(arg.as_str()));
        let named = call.kwargs.iter();
        let named = named.map(|(key, value)| (key.as_str().into(), Value::from(value.as_str())));
        let args = texts.chain(args).collect();
        let kwargs = named.chain(kwargs).collect();
        let arguments = TaskArguments::bind(&task, args, kwargs).map_err(InvalidCall::Arguments)?;
        self.queue_call(task, arguments, call);
        Ok(())
    }

    /// Returns the results of the last call by host: the value that the task returns, or its
    /// failure (F25).
    pub fn results(&self) -> &Map {
        &self.results
    }

    /// Adds a task that runs after the other calls, such as that of [`Tasks::command_task`].
    pub fn add_task(&mut self, task: Arc<Task>) {
        let call = TaskCall::new(&*task.name);
        self.queue_call(task, TaskArguments::default(), &call);
    }

    /// Returns the requests to perform now.
    ///
    /// The run has ended if the list is empty and [`TaskEngine::state`] is no longer `Running`.
    #[expect(
        clippy::should_implement_trait,
        reason = "not an iterator: requests may follow an empty list"
    )]
    pub fn next(&mut self) -> Vec<EngineRequest> {
        loop {
            while let Some(work) = self.ready.pop_front() {
                match work {
                    ReadyItem::Batch(batch) => self.start_hosts(batch),
                    ReadyItem::Run(run) => self.advance_run(run),
                }
            }
            let is_idle = self.batches.is_empty() && self.pending.is_empty();
            if !is_idle || !self.begin_call() {
                return std::mem::take(&mut self.requests);
            }
        }
    }

    /// Starts the next call. Returns false if none is left or the run must stop.
    fn begin_call(&mut self) -> bool {
        if self.interrupted {
            self.state = RunState::Interrupted;
        }
        if self.state != RunState::Running {
            return false;
        }
        let planned = self.calls.pop_front();
        let more = planned.is_some();
        match planned {
            Some(planned) => self.begin_task(planned),
            None => self.state = RunState::Done,
        }
        more
    }

    /// Returns the state of the run.
    pub fn state(&self) -> RunState {
        self.state
    }

    /// Returns the called tasks that were not reached.
    pub fn not_reached(&self) -> Vec<TaskName> {
        let calls = self.calls.iter();
        calls.map(|call| Arc::clone(&call.task.name)).collect()
    }

    /// Returns the events since the last call of this function.
    pub fn take_events(&mut self) -> Vec<HostEvent> {
        std::mem::take(&mut self.events)
    }

    /// Starts nothing any more.
    ///
    /// Running actions still end, and their results are taken.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Registers a pending reply and returns its id.
    pub(super) fn register_pending(&mut self, waiting: PendingReply) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.pending.insert(id, waiting);
        id
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.events.push(HostEvent::Warning(text.into()));
    }
}
