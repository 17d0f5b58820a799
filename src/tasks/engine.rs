//! The engine: which task runs on which host next. It touches nothing; others perform what it asks
//! for, and tell it what came of it.

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

/// Something to do for a run. The answer comes with the same number.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineRequest {
    /// Perform an action; [`Runbook::heard`] takes its result.
    Perform {
        /// The number.
        id: u64,
        /// For which host; its output is that of this host.
        host: Option<Arc<str>>,
        /// Where and what.
        request: Box<ActionRequest>,
    },
    /// Ask somebody for a secret; [`Runbook::answered`] takes it.
    PromptSecret {
        /// The number.
        id: u64,
        /// What.
        question: Question,
    },
    /// Ask somebody something; [`Runbook::prompted`] takes the answer.
    Prompt {
        /// The number.
        id: u64,
        /// For which host.
        host: Option<Arc<str>>,
        /// What.
        text: String,
        /// What an empty answer means.
        default: Option<String>,
        /// Whether nobody may see the answer.
        secret: bool,
    },
}

/// What an answer is for.
#[derive(Debug)]
pub(super) enum PendingReply {
    /// The action of a step.
    Action(usize),
    /// A secret that an action asked for.
    Secret(usize, Question),
    /// What a step asks.
    Prompt(usize),
    /// The host of a task that has none.
    Host(usize),
    /// The hosts of a role, for a task that is about to begin.
    Role(String, Box<PlannedTask>),
}

/// What is to be looked at next.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReadyItem {
    /// Begin on further hosts of a task, or end it.
    Batch(usize),
    /// Go on with a task on a host.
    Run(usize),
}

/// How a run ended, or how it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It goes on.
    Running,
    /// All was done, but for what was tolerated.
    Done,
    /// Something failed.
    Failed,
    /// Somebody asked for an end.
    Interrupted,
}

/// Why a call cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCall {
    /// There is no such task.
    #[error("there is no task `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// A hint at a similar one.
        hint: Option<String>,
    },
    /// It is given what it does not take, or not what it needs.
    #[error("{0}")]
    Arguments(String),
    /// What the environment is set to cannot be evaluated.
    #[error("{0}")]
    Env(String),
}

/// A run of tasks over hosts.
#[derive(Debug)]
pub struct TaskEngine {
    pub(super) tasks: Tasks,
    pub(super) options: TaskOptions,
    pub(super) helpers: HostServices,
    pub(super) renderer: TaskRenderer,
    pub(super) passwords: Passwords,
    /// Texts that must not be shown.
    pub(super) secrets: Secrets,
    /// The calls that are left.
    calls: VecDeque<PlannedTask>,
    pub(super) envs: Slab<Arc<TaskEnv>>,
    /// The environment of the run itself.
    pub(super) root_env: usize,
    pub(super) batches: Slab<TaskBatch>,
    pub(super) runs: Slab<HostTaskRun>,
    pub(super) ready: VecDeque<ReadyItem>,
    pub(super) pending: HashMap<u64, PendingReply>,
    pub(super) requests: Vec<EngineRequest>,
    pub(super) events: Vec<HostEvent>,
    next_id: u64,
    /// What tasks that run once have given (F27).
    pub(super) once_results: HashMap<TaskName, Value>,
    /// The hosts of the roles that a command gives.
    pub(super) role_hosts: IndexMap<String, Vec<String>>,
    /// Where the hosts lead, for a user.
    pub(super) locations: HashMap<(Arc<str>, Option<String>), Location>,
    /// Whether it was said that tasks multiply.
    pub(super) has_warned_of_multiplying: bool,
    pub(super) state: RunState,
    /// What the last call gave, host by host.
    pub(super) results: Map,
    interrupted: bool,
}

impl TaskEngine {
    /// A run of these calls, in order. Every call that cannot be run is told before anything runs
    /// (F26); with `skip_unknown_tasks` those that are not there are passed over.
    pub fn new(
        tasks: Tasks,
        calls: &[TaskCall],
        options: TaskOptions,
        helpers: HostServices,
    ) -> Result<Self, Vec<InvalidCall>> {
        let mut runbook = Self::empty(tasks, options, helpers);
        runbook
            .apply_file_settings()
            .map_err(|problem| vec![problem])?;
        let skips = runbook.env().switches.skip_unknown_tasks;
        let mut problems = Vec::new();
        for call in calls {
            let Some(task) = runbook.tasks.find(&call.task, "") else {
                let hint = runbook.tasks.hint(&call.task);
                let name = call.task.clone();
                if skips {
                    let message = format!("there is no task `{name}`; it is passed over");
                    runbook.events.push(HostEvent::Warning(message));
                } else {
                    problems.push(InvalidCall::Unknown { name, hint });
                }
                continue;
            };
            let task = Arc::clone(task);
            match TaskArguments::of_call(&task, call) {
                Ok(arguments) => runbook.queue_call(task, arguments, call),
                Err(problem) => problems.push(InvalidCall::Arguments(problem)),
            }
        }
        if problems.is_empty() {
            Ok(runbook)
        } else {
            Err(problems)
        }
    }

    fn empty(tasks: Tasks, options: TaskOptions, helpers: HostServices) -> Self {
        let mut envs = Slab::new();
        let root_env = envs.insert(Arc::new(TaskEnv::from_options(&options)));
        Self {
            renderer: TaskRenderer::new(Arc::clone(&helpers.context)),
            passwords: options.passwords.clone(),
            secrets: options.variables.hidden().clone(),
            tasks,
            options,
            helpers,
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

    /// Sets the environment as the files say, each over those before.
    fn apply_file_settings(&mut self) -> Result<(), InvalidCall> {
        let mut env = TaskEnv::from_options(&self.options);
        for settings in &self.tasks.settings {
            let mut vars = Vars::default();
            vars.set("vars", Value::from(env.vars.clone()));
            let scene = template_context(vars, &self.options.folder);
            env.apply(settings, &self.renderer, &scene)
                .map_err(|error| InvalidCall::Env(format!("`env`: {error}")))?;
        }
        env.override_with(&self.options);
        for value in env.vars.values() {
            self.secrets.gather(value);
        }
        self.envs[self.root_env] = Arc::new(env);
        Ok(())
    }

    fn env(&self) -> &TaskEnv {
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

    /// Adds a call after the others, with arguments besides its own that need not be texts; their
    /// secrets are kept from whoever watches.
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

    /// What the last call gave, by its hosts: what the task returns, or how it failed (F25).
    pub fn results(&self) -> &Map {
        &self.results
    }

    /// Adds a task without a name that runs after the others, such as that of
    /// [`Tasks::of_command`].
    pub fn add_task(&mut self, task: Arc<Task>) {
        let call = TaskCall::new(&*task.name);
        self.queue_call(task, TaskArguments::default(), &call);
    }

    /// What is to be done now. Nothing and [`Runbook::state`] no longer running: it has ended.
    #[expect(
        clippy::should_implement_trait,
        reason = "it is no iterator: more may come after nothing"
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

    /// Begins the next call, if one is left and it may.
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

    /// How the run stands.
    pub fn state(&self) -> RunState {
        self.state
    }

    /// The tasks that were called and not come to.
    pub fn not_reached(&self) -> Vec<TaskName> {
        let calls = self.calls.iter();
        calls.map(|call| Arc::clone(&call.task.name)).collect()
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<HostEvent> {
        std::mem::take(&mut self.events)
    }

    /// Begins nothing any more. What is under way still ends: its results are waited for.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// Whether somebody asked for an end.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// A new number for something that is waited for.
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
