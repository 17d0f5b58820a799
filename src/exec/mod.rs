//! Drives runs of jobs, tasks and states, and performs effects: on this machine itself, elsewhere
//! over the connections of `host`.

mod answer;
mod asking;
mod driver;
mod expression_effects;
mod guard;
mod jobs;
mod limits;
mod local;
mod native;
mod perform;
mod program;
mod running;
mod session;
mod unread;
mod visit;
mod watch;

pub use asking::Asking;
#[cfg(test)]
pub use driver::News;
pub use driver::{Driver, Machine, Next, OnInterrupt, Output, drive};
pub use expression_effects::perform_effect;
pub use guard::{GUARD_COMMAND, Guarding, stand_guard};
pub use jobs::run_job;
pub use limits::Limits;
pub use local::Local;
pub use perform::{Error, Heard, OutputSink, Perform};
pub use visit::Visit;
pub use watch::watch_signals;

#[cfg(test)]
mod tests;
