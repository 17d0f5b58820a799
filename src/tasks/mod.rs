//! Named tasks over hosts: host lists, order, failure; a command over hosts is a task without a
//! name.
//!
//! A pure state machine: it says what is to be performed where, and is told what came of it.

mod arguments;
mod task_batch;
mod call;
mod commands;
mod step_actions;
mod engine;
mod task_env;
mod event;
mod failure;
mod field_reader;
mod host_list;
mod keys;
mod local_pattern;
mod max_fail;
mod options;
mod read_step;
mod reader;
mod replies;
mod host_steps;
mod run_state;
mod definitions;
mod template;

pub use call::TaskCall;
pub use engine::{EngineRequest, InvalidCall, TaskEngine, RunState};
pub use event::{HostEvent, HostEnd, HostOutcome, TaskName};
pub use host_list::{HostListError, HostScope};
pub use keys::TASKS_KEYS;
pub use local_pattern::LocalPattern;
pub use max_fail::MaxFail;
pub use options::TaskOptions;
pub use reader::read_tasks;
pub use definitions::{
    StepAction, Execute, CommandOptions, RunOrder, Parameters, RoleDef, ScopeText, EnvSettings, TaskStep, Switches, Task,
    Tasks, TemplateText, Transfer,
};

use commands::local_shell;
