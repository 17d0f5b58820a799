//! Host states: brings machines to what state files describe.

mod compile;
mod drive;
mod facts;
mod fleet;
mod flow;
mod hosts;
mod report;
mod request;
mod roots;

pub use drive::{CompiledMachine, compile_all, perform};
pub use facts::{FactsOf, FactsRequest, read_facts};
pub use fleet::End;
pub use hosts::{StateHost, choose, this_machine};
pub use report::{MachineReport, StatesReport};
pub use request::{Pace, StatesRequest, StatesView, Tree, What};
