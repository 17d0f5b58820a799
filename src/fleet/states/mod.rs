//! Applies Salt states to machines: compiles them, orders the machines, runs them and reports the
//! results.
//!
//! The module `states` of the crate compiles and decides; this module runs it on hosts.

mod apply;
mod choose_hosts;
mod compile;
mod facts;
mod fleet;
mod machine_order;
mod render_programs;
mod report;
mod request;
mod roots;

pub use apply::{CompiledMachine, apply_states, compile_all};
pub use choose_hosts::{StateHost, choose_hosts, this_machine};
pub use facts::{FactsRequest, MachineFacts, read_facts};
pub use fleet::MachineEnd;
pub use report::{MachineReport, StatesReport};
pub use request::{MachinePace, StateSelection, StatesRequest, StatesSource, StatesView};
