//! Named tasks over hosts, like Fabric's: host lists, serial or parallel order, failures.
//!
//! [`TaskEngine`] is a pure state machine: it returns requests and takes results, and touches
//! neither the network nor files. [`read_tasks`] reads `tasks.yaml`. `fleet::tasks` runs the
//! engine. A command over hosts is a task without a name.

mod arguments;
mod call;
mod check;
mod check_names;
mod command_options;
mod commands;
mod control;
mod definitions;
mod engine;
mod event;
mod failure;
mod field_reader;
mod host_list;
mod host_steps;
mod keys;
mod local_pattern;
mod max_fail;
mod options;
mod overridden_hosts;
mod placed_steps;
mod read_options;
mod read_step;
mod read_transfer;
mod reader;
mod repeat;
mod replies;
mod run_state;
mod step_actions;
mod step_cursor;
mod task_batch;
mod task_env;
mod template;
mod template_text;

pub use call::TaskCall;
pub use command_options::{CommandOptions, OutputKinds, PathChange};
pub use definitions::{
    Block, ConnectionSettings, Download, EnvSettings, Execute, ForEach, Parameters, PasswordTexts,
    RoleDef, RunOrder, ScopeText, StepAction, Steps, Switches, Task, TaskStep, Tasks, Transfer,
    Until,
};
pub use engine::{EngineRequest, InvalidCall, RunState, TaskEngine};
pub use event::{HostEnd, HostEvent, HostOutcome, TaskName};
pub use host_list::{HostListError, HostScope};
pub use keys::TASKS_KEYS;
pub use local_pattern::LocalPattern;
pub use max_fail::MaxFail;
pub use options::TaskOptions;
pub use reader::read_tasks;
pub use template_text::TemplateText;

use commands::local_shell;
