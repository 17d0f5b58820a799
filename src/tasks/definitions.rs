//! The definitions of tasks as read from `tasks.yaml`, before anything runs.
//!
//! `reader` creates them and `engine` runs them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use super::{CommandOptions, HostScope, LocalPattern, TaskCall, TaskName, TemplateText};
use crate::diagnostic::Span;
use crate::host::{Command, ExecutorConfiguration, FunctionCall, GetSettings, PutSettings};
use crate::text::did_you_mean;
use crate::value::{Map, Value};

/// The order in which the hosts of a task run (F30).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// The environment decides by its switch `parallel`.
    #[default]
    Inherited,
    Serial,
    Parallel,
}

/// A named task with its steps.
#[derive(Debug, Clone)]
pub struct Task {
    /// The full name, including namespaces, such as `db.backup`.
    pub name: TaskName,
    /// The namespace with a trailing dot; empty at the top level.
    pub namespace: Arc<str>,
    /// The description. Lists show its first line.
    pub description: String,
    /// The hosts that the task runs on unless the call names others.
    pub scope: HostScope,
    /// The order in which the hosts run.
    pub order: RunOrder,
    /// The maximum number of hosts at the same time.
    pub pool_size: Option<usize>,
    /// Whether the task runs only on its first host and only once per run (F27).
    pub runs_once: bool,
    /// The parameters that a call may set.
    pub parameters: Parameters,
    /// The condition under which the task runs, evaluated on each host.
    pub condition: Option<TemplateText>,
    /// Whether failures only cause warnings. None if the environment decides.
    pub warn_only: Option<bool>,
    /// Whether unreachable hosts are skipped. None if the environment decides.
    pub skip_bad_hosts: Option<bool>,
    pub steps: Steps,
    /// The options of all commands of the task.
    pub options: CommandOptions,
    /// Settings that apply only within the task.
    pub settings: Option<EnvSettings>,
    /// The value that the task returns to a task that executes it.
    pub returns: Option<Value>,
    /// The folder that local paths in the task are relative to.
    pub folder: Arc<Path>,
    /// The position of the task in its file.
    pub span: Span,
}

/// The parameters that a task accepts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    /// The named parameters in order, each with its default. A parameter without default is
    /// required.
    pub named: IndexMap<Arc<str>, Option<Value>>,
    /// Whether extra arguments are allowed, which templates see as `args` and `kwargs`.
    pub extra: bool,
}

/// A step of a task: an action with its condition and options.
#[derive(Debug, Clone)]
pub struct TaskStep {
    pub action: StepAction,
    /// The condition under which the step runs.
    pub condition: Option<TemplateText>,
    /// The items that the step runs for.
    pub for_each: Option<ForEach>,
    /// The repetition of the step.
    pub until: Option<Until>,
    /// The variable name for the result of the step.
    pub register: Option<Arc<str>>,
    /// Whether a failure of the step does not fail the task.
    pub warn_only: bool,
    /// The options of the step's command.
    pub options: CommandOptions,
    /// The position of the step in its file.
    pub span: Span,
}

impl TaskStep {
    /// Creates a step without conditions, repetitions and options.
    pub(super) fn new(action: StepAction, span: Span) -> Self {
        Self {
            action,
            condition: None,
            for_each: None,
            until: None,
            register: None,
            warn_only: false,
            options: CommandOptions::default(),
            span,
        }
    }
}

/// A list of steps. Runs share it with the definition of the task.
pub type Steps = Arc<[TaskStep]>;

/// Steps that belong together.
#[derive(Debug, Clone)]
pub struct Block {
    pub steps: Steps,
    /// The steps that follow if one of `steps` fails.
    pub rescue: Steps,
    /// The steps that follow in any case.
    pub always: Steps,
    /// Settings that apply only within the block.
    pub settings: Option<EnvSettings>,
}

/// The items that a step runs for, one after the other.
#[derive(Debug, Clone)]
pub struct ForEach {
    /// A list or a map, which may contain templates, or a template that gives one.
    pub items: Value,
    /// The variable that holds the item.
    pub name: Arc<str>,
}

/// The repetition of a step until a condition is true.
#[derive(Debug, Clone)]
pub struct Until {
    /// The condition on the result. None means that the step must succeed.
    pub condition: Option<TemplateText>,
    /// The maximum number of repetitions after the first attempt.
    pub retries: usize,
    /// The time between two attempts.
    pub delay: Duration,
}

/// The action of a step, one variant per action key of `tasks.yaml`.
#[derive(Debug, Clone)]
pub enum StepAction {
    /// Runs a text in a shell of the host.
    Run(TemplateText),
    /// Runs a text in a shell of the host, as another user.
    Sudo {
        text: TemplateText,
        /// The user to run as. None means root.
        user: Option<TemplateText>,
    },
    /// Runs a text in a shell of this machine.
    Local(TemplateText),
    /// Copies a file or folder to the host.
    Put(Transfer),
    /// Copies a file or folder from the host.
    Get(Download),
    /// Copies a file or folder from the host to the path of a pattern (`unfurl get`).
    Fetch {
        source: String,
        /// The pattern of the local path.
        target: LocalPattern,
        /// The maximum number of bytes of all files together.
        max_bytes: Option<u64>,
        settings: GetSettings,
        /// The user who reads on the host. None means the one who logs in.
        sudo: Option<String>,
    },
    /// Renders a local template file and copies the result to the host.
    Template(Transfer),
    /// Asks the user a question and registers the answer.
    Prompt {
        text: TemplateText,
        /// The value of an empty answer.
        default: Option<TemplateText>,
        /// The pattern that the whole answer must match.
        validate: Option<crate::text::Pattern>,
    },
    /// Calls a function that only an executor of the user's can perform (`unfurl op`).
    Call(FunctionCall),
    /// Changes the environment for the following steps and tasks (F20).
    Set(Box<EnvSettings>),
    /// Runs another task and waits for its result (F23).
    Execute(Box<Execute>),
    /// Ends the whole run, regardless of `warn_only` (F39).
    Abort(TemplateText),
    Echo(TemplateText),
    Block(Box<Block>),
}

/// A file or folder to copy to a host.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// The local path of the file or folder.
    pub source: TemplateText,
    pub target: TemplateText,
    /// The permission bits. None means those of the source.
    pub mode: Option<u32>,
    pub settings: PutSettings,
    /// The user who writes on the host. None means the one who logs in.
    pub sudo: Option<TemplateText>,
}

/// A copy of a file or folder from the host.
#[derive(Debug, Clone)]
pub struct Download {
    pub source: TemplateText,
    /// The local path. None means below a folder with the name of the host.
    pub target: Option<TemplateText>,
    /// The maximum number of bytes of all files together.
    pub max_bytes: Option<u64>,
    pub settings: GetSettings,
    /// The user who reads on the host. None means the one who logs in.
    pub sudo: Option<TemplateText>,
}

/// A call of another task from a step.
#[derive(Debug, Clone, Default)]
pub struct Execute {
    pub task: Option<TemplateText>,
    /// Positional arguments, which may contain templates.
    pub args: Vec<Value>,
    /// Named arguments, which may contain templates.
    pub kwargs: Map,
    /// The hosts to run on, which may contain templates.
    pub scope: ScopeText,
}

/// Hosts, roles and exclusions that may contain templates.
///
/// An item that consists of one template may give a list.
#[derive(Debug, Clone, Default)]
pub struct ScopeText {
    pub hosts: Vec<TemplateText>,
    pub roles: Vec<TemplateText>,
    pub exclude_hosts: Vec<TemplateText>,
}

/// The source of the hosts of a role, as `tasks.yaml` defines it.
#[derive(Debug, Clone, PartialEq)]
pub enum RoleDef {
    Hosts(Vec<String>),
    /// A local command that prints one host per line.
    Command(Box<Command>),
}

/// Changes to an environment. Fields that are None or empty change nothing.
#[derive(Debug, Clone, Default)]
pub struct EnvSettings {
    /// The hosts that replace the current ones.
    pub hosts: Option<Vec<TemplateText>>,
    /// The roles that replace the current ones.
    pub roles: Option<Vec<TemplateText>>,
    /// The excluded hosts that replace the current ones.
    pub exclude_hosts: Option<Vec<TemplateText>>,
    /// Hosts, roles and exclusions that are added.
    pub extend: ScopeText,
    /// Template variables, which replace variables of the same name.
    pub vars: Map,
    /// The YAML files with variables, which `vars` override.
    pub vars_files: Vec<TemplateText>,
    /// The folder that the paths of `vars_files` and of key files are relative to.
    pub folder: PathBuf,
    /// Role definitions, which take precedence over those of an inventory.
    pub roledefs: IndexMap<String, RoleDef>,
    /// The user to log in as.
    pub user: Option<TemplateText>,
    pub shell: Option<TemplateText>,
    /// The time limit of each command.
    pub command_timeout: Option<Duration>,
    pub connection: ConnectionSettings,
    /// The answers to prompts of commands.
    pub prompts: Map,
    /// The maximum number of hosts at the same time.
    pub pool_size: Option<usize>,
    pub switches: Switches<Option<bool>>,
    /// The passwords for the login (`password`, `passwords`).
    pub login_passwords: PasswordTexts,
    /// The passwords for `sudo` (`sudo_password`, `sudo_passwords`).
    pub sudo_passwords: PasswordTexts,
}

/// The passwords of one kind: for all hosts, and for single ones.
/// [`Debug`](std::fmt::Debug) shows no password.
#[derive(Clone, Default)]
pub struct PasswordTexts {
    pub all: Option<TemplateText>,
    /// The passwords by host string.
    pub by_host: Vec<(String, TemplateText)>,
}

impl std::fmt::Debug for PasswordTexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordTexts")
            .field("by_host", &self.by_host.len())
            .finish_non_exhaustive()
    }
}

/// Changes to the way in which hosts are reached. Fields that are None or empty change nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// The port of hosts that name none.
    pub port: Option<u16>,
    /// The private key files that are tried first.
    pub key_files: Vec<PathBuf>,
    /// The time limit of one attempt to connect and log in.
    pub timeout: Option<Duration>,
    /// The number of attempts to connect.
    pub attempts: Option<u32>,
    /// The interval of keepalive messages.
    pub keepalive: Option<Duration>,
    /// True if the SSH agent is forwarded.
    pub forward_agent: Option<bool>,
}

/// The settings of an environment that are true or false.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches<T> {
    /// Whether all hosts of a task run at the same time.
    pub parallel: T,
    /// Whether failures only cause warnings, so that the task goes on.
    pub warn_only: T,
    /// Whether unreachable hosts are skipped without failing the run.
    pub skip_bad_hosts: T,
    /// Whether calls of unknown tasks are skipped.
    pub skip_unknown_tasks: T,
    /// Whether a question to the user fails the run.
    pub abort_on_prompts: T,
    /// Whether a host that is listed twice runs twice.
    pub keep_duplicate_hosts: T,
}

/// The tasks of a `tasks.yaml` and of the files that it includes.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    /// The tasks by their full names.
    pub(super) named: IndexMap<Arc<str>, Arc<Task>>,
    /// The name of the default task of each namespace. The top level has the empty key.
    pub(super) defaults: IndexMap<Arc<str>, Arc<str>>,
    /// The `env` sections of the files, in the order in which they apply.
    pub(super) settings: Vec<EnvSettings>,
    /// The executors that the files configure, the including file first.
    pub(super) executors: Vec<ExecutorConfiguration>,
}

impl Tasks {
    /// Returns the executors that the files configure, the strongest first.
    pub fn executors(&self) -> &[ExecutorConfiguration] {
        &self.executors
    }

    /// Finds a task by its name, first within a namespace and then at the top level.
    ///
    /// The name of a namespace stands for its default task.
    pub fn find(&self, name: &str, namespace: &str) -> Option<&Arc<Task>> {
        let of = |name: &str| {
            let task = self.named.get(name);
            task.or_else(|| self.named.get(self.defaults.get(name)?))
        };
        if !namespace.is_empty()
            && let Some(task) = of(&format!("{namespace}{name}"))
        {
            return Some(task);
        }
        of(name)
    }

    /// Returns the task that runs if none is named (F28).
    pub fn default_task(&self) -> Option<&Arc<Task>> {
        self.named.get(self.defaults.get("")?)
    }

    /// Returns all tasks, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Task>> {
        let mut all: Vec<&Arc<Task>> = self.named.values().collect();
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        all.into_iter()
    }

    /// Returns a hint at a task with a similar name.
    pub fn hint(&self, name: &str) -> Option<String> {
        did_you_mean(name, self.named.keys().map(|name| &**name))
    }

    /// Returns a task that runs a command on the hosts of the environment (F28).
    ///
    /// The task has the name of the first word of the command.
    pub fn command_task(
        text: &str,
        sudo: Option<&str>,
        options: CommandOptions,
        folder: &Path,
    ) -> (Arc<Task>, TaskCall) {
        let name = text.split_whitespace().next().unwrap_or("command");
        let text = TemplateText::plain(text);
        let step_action = match sudo {
            None => StepAction::Run(text),
            Some(user) => StepAction::Sudo {
                text,
                user: Some(TemplateText::plain(user)),
            },
        };
        let task = Self::step_task(name, step_action, options, folder);
        (task, TaskCall::new(name))
    }

    /// Returns a task that consists of one step, on the hosts of the environment.
    pub fn step_task(
        name: &str,
        step_action: StepAction,
        options: CommandOptions,
        folder: &Path,
    ) -> Arc<Task> {
        let step = TaskStep {
            options,
            ..TaskStep::new(step_action, Span::NONE)
        };
        Arc::new(Task {
            steps: [step].into(),
            ..Task::new(name, folder)
        })
    }
}

impl Task {
    /// Creates a task without steps, with defaults for all settings.
    pub fn new(name: impl Into<Arc<str>>, folder: impl Into<Arc<Path>>) -> Self {
        Self {
            name: name.into(),
            namespace: "".into(),
            description: String::new(),
            scope: HostScope::default(),
            order: RunOrder::Inherited,
            pool_size: None,
            runs_once: false,
            parameters: Parameters::default(),
            condition: None,
            warn_only: None,
            skip_bad_hosts: None,
            steps: Steps::default(),
            options: CommandOptions::default(),
            settings: None,
            returns: None,
            folder: folder.into(),
            span: Span::NONE,
        }
    }

    /// Returns the first line of the description.
    pub fn summary(&self) -> &str {
        self.description.lines().next().unwrap_or("").trim()
    }
}
