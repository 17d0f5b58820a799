//! What can be changed on a machine.

mod change;
mod shown;

pub(crate) use change::subject;
pub use change::{Change, Like, Run, Write};
