//! Performs effects: on this machine itself, elsewhere over the connections of `host`.

mod answer;
mod chain;
mod elsewhere;
mod guard;
mod local;
mod machine;
mod perform;
mod program;
mod redact;
mod restart;
mod running;
mod unread;
mod visit;
mod watch;

pub use guard::{GUARD_COMMAND, Guarding, stand_guard};
pub use local::{Bell, Error, Heard, Limits, Local, OutputSink};
pub use visit::Visit;
pub use watch::watch_signals;
