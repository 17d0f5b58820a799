//! Actions on machines, as data; performs none of them.

mod action;
mod capture;
mod output;

pub use action::{Action, Background, Command, DEFAULT_SHELL, Program};
pub use capture::{Capture, Captured, DEFAULT_KEPT_BYTES};
pub use output::{ActionResult, Exit, RunOutput, Stream};
