//! Drives runs of jobs, tasks and states, and performs effects: on this machine itself, elsewhere
//! over the connections of `host`.

mod answer;
mod asking;
mod chain;
mod drive;
mod driver;
mod elsewhere;
mod ends;
mod error;
mod expression_effects;
mod guard;
mod heard;
mod jobs;
mod limits;
mod local;
mod native;
mod perform;
mod performer;
mod program;
mod redact;
mod restart;
mod running;
mod server;
mod unread;
mod visit;
mod watch;
mod work;

pub use asking::Asking;
pub use drive::{Machine, Next, drive};
pub use driver::{Driver, News, OnInterrupt, Output};
pub use error::Error;
pub use expression_effects::perform_effect;
pub use guard::{GUARD_COMMAND, Guarding, stand_guard};
pub use heard::{Heard, OutputSink};
pub use jobs::run_job;
pub use limits::Limits;
pub use local::{Bell, Local};
pub use perform::{Perform, Ring};
pub use visit::Visit;
pub use watch::watch_signals;

#[cfg(test)]
mod tests;
