//! Host states: brings machines to what state files describe.

mod compile;
mod apply;
mod facts;
mod fleet;
mod machine_order;
mod choose_hosts;
mod report;
mod request;
mod roots;

pub use apply::{CompiledMachine, compile_all, apply_states};
pub use facts::{MachineFacts, FactsRequest, read_facts};
pub use fleet::MachineEnd;
pub use choose_hosts::{StateHost, choose_hosts, this_machine};
pub use report::{MachineReport, StatesReport};
pub use request::{MachinePace, StatesRequest, StatesView, StatesSource, StateSelection};
