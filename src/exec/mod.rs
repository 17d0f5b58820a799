//! Performs effects: on this machine itself, elsewhere over the connections of `host`.

mod answer;
mod chain;
mod elsewhere;
mod ends;
mod guard;
mod heard;
mod limits;
mod local;
mod native;
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

pub use guard::{GUARD_COMMAND, Guarding, stand_guard};
pub use heard::{Heard, OutputSink};
pub use limits::Limits;
pub use local::{Bell, Error, Local};
pub use visit::Visit;
pub use watch::watch_signals;
