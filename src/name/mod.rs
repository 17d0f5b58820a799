//! The vocabulary of the program: a newtype for each kind of name, change ids, statuses and node states.
//!
//! This module reads no clock, no file and no environment.

mod change_id;
mod enum_words;
mod names;
mod state;

pub use change_id::{ChangeId, ChangeIdError, TaskNumber, next_tick};
pub use enum_words::EnumWords;
pub use names::{
    InstanceKey, InstanceName, InterfaceName, OperationName, OperationRef, TemplateName, TypeName,
};
pub use state::{NodeState, Priority, Status};
