//! Host states: brings machines to what state files describe.

mod compile;
mod drive;
mod facts;
mod fleet;
mod flow;
mod hosts;
mod machine;
mod report;
mod request;
mod roots;
mod told;

pub use drive::{CompiledMachine, compile_all, perform};
pub use facts::{FactsOf, FactsRequest, read_facts};
pub use hosts::{StateHost, choose, this_machine};
pub use machine::End;
pub use report::{MachineReport, StatesReport};
pub use request::{Pace, StatesRequest, StatesView, Tree, What};
pub use roots::FolderRoots;
pub use told::{map_of, map_of_file};

use crate::converge::Stamp;
use crate::system::clock;

/// This moment.
fn now() -> Stamp {
    Stamp(clock::now().as_microsecond())
}
