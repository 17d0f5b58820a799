//! What is to run over hosts, and who is shown what happens.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use crate::host::services::{HostResolver, RoleSource};
use crate::host::{ExecutorChain, Question, Secret};
use crate::system::signals::Interrupts;
use crate::tasks::{CommandOptions, HostEvent, StepAction, Task, TaskCall, TaskOptions, Tasks};

/// Shows what happens on hosts, and asks people.
pub trait HostsView {
    /// Takes the next thing that happened.
    fn event(&mut self, event: &HostEvent);

    /// Asks for a secret; none if nobody answers.
    fn prompt_secret(&mut self, question: &Question) -> Option<Secret>;

    /// Asks something; what is `secret` is not shown while it is typed. None if nobody answers.
    fn prompt(&mut self, text: &str, default: Option<&str>, secret: bool) -> Option<String>;
}

/// What runs after the tasks, without being one of them (F28).
#[derive(Debug, Clone)]
pub enum AdHocTask {
    /// A command.
    Command {
        /// The text, for the shell of each host.
        text: String,
        /// The user that it runs as, if another one.
        sudo: Option<String>,
    },
    /// A step.
    Step {
        /// Its name for people.
        name: &'static str,
        /// What it does.
        action: StepAction,
        /// How.
        options: Box<CommandOptions>,
    },
}

impl AdHocTask {
    pub(super) fn task(&self, folder: &Path) -> Arc<Task> {
        match self {
            Self::Command { text, sudo } => Tasks::command_task(text, sudo.as_deref(), folder).0,
            Self::Step {
                name,
                action: deed,
                options: how,
            } => Tasks::step_task(name, deed.clone(), CommandOptions::clone(how), folder),
        }
    }
}

/// What is to run over hosts.
#[derive(Debug)]
pub struct TasksRequest {
    /// The tasks that there are.
    pub tasks: Tasks,
    /// What is called of them, in order.
    pub calls: Vec<TaskCall>,
    /// What runs after them.
    pub command: Option<AdHocTask>,
    /// How they run. Folder, variables and user of this machine are those of this process where
    /// they are empty.
    pub options: TaskOptions,
    /// How hosts are reached.
    pub resolver: Rc<dyn HostResolver>,
    /// The roles beyond those of the tasks.
    pub roles: Rc<dyn RoleSource>,
    /// What each action on a host goes through, if it says nothing else.
    pub chain: Option<Arc<ExecutorChain>>,
    /// What templates may use, by name (`--allow`).
    pub allowed: Vec<String>,
    /// Tells whether somebody asks for an end.
    pub interrupts: Interrupts,
}
