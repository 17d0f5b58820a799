//! The request to run tasks over hosts, and the view that shows the run.
//!
//! `cli` builds the [`TasksRequest`] and implements [`HostsView`].

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use crate::diagnostic::Sources;
use crate::host::services::{HostResolver, RoleSource};
use crate::host::{ExecutorChain, PoolLimits, Question, Secret};
use crate::system::signals::Interrupts;
use crate::tasks::{CommandOptions, HostEvent, StepAction, Task, TaskCall, TaskOptions, Tasks};

/// The view of a run over hosts, which also asks the user.
pub trait HostsView {
    /// Shows the next event of the run.
    fn event(&mut self, event: &HostEvent);

    /// Asks the user for a secret. None without an answer.
    fn prompt_secret(&mut self, question: &Question) -> Option<Secret>;

    /// Asks the user a question.
    ///
    /// A `secret` answer is not shown while typed. None without an answer.
    fn prompt(&mut self, text: &str, default: Option<&str>, secret: bool) -> Option<String>;
}

/// A command or step that runs after the tasks without being one of them (F28).
#[derive(Debug, Clone)]
pub enum AdHocTask {
    /// A shell command on each host.
    Command {
        /// The command text for the shell of each host.
        text: String,
        /// The user to run as, if not the user who logs in.
        sudo: Option<String>,
        /// The options of the command.
        options: Box<CommandOptions>,
    },
    /// A single step, such as a file transfer.
    Step {
        /// The name of the step in messages.
        name: &'static str,
        action: StepAction,
        /// The options of the step's command.
        options: Box<CommandOptions>,
    },
}

impl AdHocTask {
    /// Returns true for a command that reads the standard input of this program.
    pub fn reads_program_input(&self) -> bool {
        match self {
            Self::Command { options, .. } | Self::Step { options, .. } => options.program_input,
        }
    }

    pub(super) fn task(&self, folder: &Path) -> Arc<Task> {
        match self {
            Self::Command {
                text,
                sudo,
                options,
            } => {
                let options = CommandOptions::clone(options);
                Tasks::command_task(text, sudo.as_deref(), options, folder).0
            }
            Self::Step {
                name,
                action: step_action,
                options: how,
            } => Tasks::step_task(
                name,
                step_action.clone(),
                CommandOptions::clone(how),
                folder,
            ),
        }
    }
}

/// A request to run tasks over hosts.
#[derive(Debug)]
pub struct TasksRequest {
    /// The loaded tasks, which calls refer to.
    pub tasks: Tasks,
    /// The texts of the tasks, for diagnostics.
    pub sources: Sources,
    /// The calls to run, in order.
    pub calls: Vec<TaskCall>,
    /// The command or step that runs after the calls.
    pub command: Option<AdHocTask>,
    /// The options of the run.
    ///
    /// An empty folder, local user or set of variables is replaced by that of this process.
    pub options: TaskOptions,
    pub resolver: Rc<dyn HostResolver>,
    /// The source of roles beyond those that the tasks define.
    pub roles: Rc<dyn RoleSource>,
    /// The chain of executors for actions on hosts that name none themselves.
    pub chain: Option<Arc<ExecutorChain>>,
    /// The limits of connections to hosts.
    pub connections: PoolLimits,
    /// The names of features that templates may use (`--allow`).
    pub allowed: Vec<String>,
    pub interrupts: Interrupts,
}
