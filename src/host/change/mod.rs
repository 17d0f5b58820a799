//! What can be changed on a machine.

mod change;
mod run;
mod shown;
mod write;

pub use change::Change;
pub(crate) use change::subject;
pub use run::Run;
pub use write::{Like, Write};
