//! Tasks as they are read: what `tasks.yaml` says, before anything runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use super::{HostScope, LocalPattern, TaskCall, TaskName};
use crate::diagnostic::Span;
use crate::host::Command;
use crate::text::did_you_mean;
use crate::value::{Map, Value};

/// A text that may have templates in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateText {
    text: Arc<str>,
    is_template: bool,
}

impl TemplateText {
    /// A text with templates where it has `{{` or `{%`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let is_template = text.contains("{{") || text.contains("{%");
        Self { text, is_template }
    }

    /// A text that is taken as it is.
    pub fn plain(text: impl Into<Arc<str>>) -> Self {
        Self {
            text: text.into(),
            is_template: false,
        }
    }

    /// What is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it has to be rendered.
    pub fn is_template(&self) -> bool {
        self.is_template
    }
}

/// Whether the hosts of a task take turns (F30).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// As the environment says.
    #[default]
    Inherited,
    /// One after the other.
    Serial,
    /// At the same time.
    Parallel,
}

/// A named task.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name, namespaces included.
    pub name: TaskName,
    /// Its namespaces, with the dot behind; empty if it has none.
    pub namespace: Arc<str>,
    /// What it is for; the first line is what lists show.
    pub description: String,
    /// Where it runs, where the call does not say it.
    pub scope: HostScope,
    /// Whether its hosts take turns.
    pub order: RunOrder,
    /// The most hosts at the same time.
    pub pool_size: Option<usize>,
    /// Whether it runs on its first host only, once in all (F27).
    pub runs_once: bool,
    /// What it may be given.
    pub parameters: Parameters,
    /// A condition, asked on each host.
    pub condition: Option<TemplateText>,
    /// Whether what fails in it is only warned of; as the environment says if none.
    pub warn_only: Option<bool>,
    /// Whether hosts that cannot be reached are passed over; as the environment says if none.
    pub skip_bad_hosts: Option<bool>,
    /// What it does.
    pub steps: Vec<TaskStep>,
    /// What it gives to the task that executes it.
    pub returns: Option<Value>,
    /// The folder that local paths in it start from.
    pub folder: Arc<Path>,
    /// Where it stands.
    pub span: Span,
}

/// What a task may be given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    /// Those with a name, in order, each with its default; without one it must be given.
    pub named: IndexMap<Arc<str>, Option<Value>>,
    /// Whether others may be given too; templates find them in `args` and `kwargs`.
    pub extra: bool,
}

/// One thing that a task does.
#[derive(Debug, Clone)]
pub struct TaskStep {
    /// What.
    pub action: StepAction,
    /// A condition.
    pub condition: Option<TemplateText>,
    /// The name by which later steps know its result.
    pub register: Option<Arc<str>>,
    /// Whether its failure is no failure of the task.
    pub warn_only: bool,
    /// How its command is run.
    pub options: CommandOptions,
    /// Where it stands.
    pub span: Span,
}

/// How a command is run.
#[derive(Debug, Clone, Default)]
pub struct CommandOptions {
    /// The exit codes that mean success, if not only 0.
    pub ok_codes: Vec<i32>,
    /// The folder it runs in.
    pub cd: Option<TemplateText>,
    /// Variables of its environment.
    pub env: Vec<(String, TemplateText)>,
    /// The shell.
    pub shell: Option<TemplateText>,
    /// What it reads.
    pub stdin: Option<TemplateText>,
    /// Whether it gets a terminal.
    pub pty: bool,
    /// How long it may take.
    pub time_limit: Option<Duration>,
    /// How long it may take until the host has started anew, where the command restarts it.
    pub restart: Option<Duration>,
    /// Whether what it runs and prints is nobody's business.
    pub secret: bool,
    /// Whether what it prints is not shown.
    pub quiet: bool,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum StepAction {
    /// Runs a text in a shell of the host.
    Run(TemplateText),
    /// Runs a text in a shell of the host, as another user.
    Sudo {
        /// The text.
        text: TemplateText,
        /// The user; root if none.
        user: Option<TemplateText>,
    },
    /// Runs a text in a shell of this machine.
    Local(TemplateText),
    /// Takes a file or folder to the host.
    Put(Transfer),
    /// Brings a file or folder from the host.
    Get {
        /// What is brought.
        source: TemplateText,
        /// Where to; below a folder with the name of the host if none.
        target: Option<TemplateText>,
    },
    /// Brings a file or folder from the host to where a pattern says.
    Fetch {
        /// What is brought.
        source: String,
        /// Where to.
        target: LocalPattern,
    },
    /// Takes a file to the host after its templates were rendered.
    Template(Transfer),
    /// Asks a person.
    Prompt {
        /// What for.
        text: TemplateText,
        /// What is taken if nothing is said.
        default: Option<TemplateText>,
        /// The pattern that the whole answer has to match.
        validate: Option<regex::Regex>,
    },
    /// Changes the environment for what comes after (F20).
    Set(Box<EnvSettings>),
    /// Runs another task (F23).
    Execute(Box<Execute>),
    /// Ends the whole run, `warn_only` or not (F39).
    Abort(TemplateText),
    /// Says something.
    Echo(TemplateText),
}

/// What is taken to a host.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// The file or folder here.
    pub source: TemplateText,
    /// Where it goes.
    pub target: TemplateText,
    /// The permission bits; those of the source if none.
    pub mode: Option<u32>,
}

/// A task that another one runs.
#[derive(Debug, Clone, Default)]
pub struct Execute {
    /// Its name.
    pub task: Option<TemplateText>,
    /// Arguments without a name, templates in them.
    pub args: Vec<Value>,
    /// Arguments with a name, templates in them.
    pub kwargs: Map,
    /// Hosts, roles and exclusions, each a text or a list, templates in them.
    pub scope: ScopeText,
}

/// Hosts, roles and exclusions with templates in them. An item that is one template may give a
/// list.
#[derive(Debug, Clone, Default)]
pub struct ScopeText {
    /// Host strings.
    pub hosts: Vec<TemplateText>,
    /// Names of roles.
    pub roles: Vec<TemplateText>,
    /// Host strings to leave out.
    pub exclude_hosts: Vec<TemplateText>,
}

/// Where the hosts of a role come from, as `tasks.yaml` says.
#[derive(Debug, Clone, PartialEq)]
pub enum RoleDef {
    /// These hosts.
    Hosts(Vec<String>),
    /// The lines that a shell text prints.
    Command(Box<Command>),
}

/// What an environment is set to; what is none stays as it is.
#[derive(Debug, Clone, Default)]
pub struct EnvSettings {
    /// The hosts, in place of those before.
    pub hosts: Option<Vec<TemplateText>>,
    /// The roles, in place of those before.
    pub roles: Option<Vec<TemplateText>>,
    /// The hosts to leave out, in place of those before.
    pub exclude_hosts: Option<Vec<TemplateText>>,
    /// What is added to hosts, roles and exclusions.
    pub extend: ScopeText,
    /// Variables, each in place of one before.
    pub vars: Map,
    /// Roles that count more than those of an inventory.
    pub roledefs: IndexMap<String, RoleDef>,
    /// The user to log in as.
    pub user: Option<TemplateText>,
    /// The shell of commands.
    pub shell: Option<TemplateText>,
    /// How long a command may run.
    pub command_timeout: Option<Duration>,
    /// The most hosts at the same time.
    pub pool_size: Option<usize>,
    /// True or false.
    pub switches: Switches<Option<bool>>,
}

/// What is either so or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches<T> {
    /// Whether all hosts of a task run at the same time.
    pub parallel: T,
    /// Whether what fails is only warned of.
    pub warn_only: T,
    /// Whether hosts that cannot be reached are passed over.
    pub skip_bad_hosts: T,
    /// Whether tasks that are not there are passed over.
    pub skip_unknown_tasks: T,
    /// Whether a question fails the run.
    pub abort_on_prompts: T,
    /// Whether a host that is named twice runs twice.
    pub keep_twins: T,
}

/// All tasks of a `tasks.yaml` and what it includes.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    /// The tasks by their names.
    pub(super) named: IndexMap<Arc<str>, Arc<Task>>,
    /// The default task of each namespace; that without a name has the empty one.
    pub(super) defaults: IndexMap<Arc<str>, Arc<str>>,
    /// What the environment is set to, in this order.
    pub(super) settings: Vec<EnvSettings>,
}

impl Tasks {
    /// The task of a name: of the namespace of the one who asks, or of none. The name of a
    /// namespace stands for its default task.
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

    /// The task that runs if none is named (F28).
    pub fn default_task(&self) -> Option<&Arc<Task>> {
        self.named.get(self.defaults.get("")?)
    }

    /// All tasks, by their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Task>> {
        let mut all: Vec<&Arc<Task>> = self.named.values().collect();
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        all.into_iter()
    }

    /// A hint at a task with a similar name.
    pub fn hint(&self, name: &str) -> Option<String> {
        did_you_mean(name, self.named.keys().map(|name| &**name))
    }

    /// A command as a task without a name, on the hosts of the environment (F28).
    pub fn command_task(text: &str, sudo: Option<&str>, folder: &Path) -> (Arc<Task>, TaskCall) {
        let name = text.split_whitespace().next().unwrap_or("command");
        let text = TemplateText::plain(text);
        let deed = match sudo {
            None => StepAction::Run(text),
            Some(user) => StepAction::Sudo {
                text,
                user: Some(TemplateText::plain(user)),
            },
        };
        let task = Self::step_task(name, deed, CommandOptions::default(), folder);
        (task, TaskCall::new(name))
    }

    /// A step as a task of its own, on the hosts of the environment.
    pub fn step_task(
        name: &str,
        deed: StepAction,
        how: CommandOptions,
        folder: &Path,
    ) -> Arc<Task> {
        let step = TaskStep {
            action: deed,
            condition: None,
            register: None,
            warn_only: false,
            options: how,
            span: Span::NONE,
        };
        Arc::new(Task {
            steps: vec![step],
            ..Task::new(name, folder)
        })
    }
}

impl Task {
    /// A task that does nothing.
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
            steps: Vec::new(),
            returns: None,
            folder: folder.into(),
            span: Span::NONE,
        }
    }

    /// The first line of what it is for.
    pub fn summary(&self) -> &str {
        self.description.lines().next().unwrap_or("").trim()
    }
}
