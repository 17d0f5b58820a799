//! Named tasks over hosts: host lists, order, failure; a command over hosts is a task without a
//! name.
//!
//! A pure state machine: it says what is to be performed where, and is told what came of it.

mod arguments;
mod batch;
mod call;
mod commands;
mod deed;
mod engine;
mod env;
mod event;
mod failure;
mod fields;
mod host_list;
mod keys;
mod local_pattern;
mod max_fail;
mod options;
mod read_step;
mod reader;
mod results;
mod run;
mod running;
mod tasks;
mod template;

pub use call::Call;
pub use engine::{Do, NoCall, Runbook, State};
pub use event::{Event, HostEnd, HostOutcome, TaskName};
pub use host_list::{HostListError, Scope};
pub use keys::TASKS_KEYS;
pub use local_pattern::LocalPattern;
pub use max_fail::MaxFail;
pub use options::Options;
pub use reader::read_tasks;
pub use tasks::{
    Deed, Execute, How, Order, Parameters, RoleDef, ScopeText, Settings, Step, Switches, Task,
    Tasks, Text, Transfer,
};

use commands::local_shell;
