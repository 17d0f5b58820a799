//! Shows a running job: turns its events into text, by an injected clock.
//!
//! A view implements [`ProgressView`]. `cli::screen` feeds it with events and writes its text.

mod block;
mod event;
mod github;
mod gitlab;
mod json_events;
mod plain;
mod replay;
#[cfg(test)]
mod samples;
mod task_output;
mod tasks;
#[cfg(test)]
mod tests;
mod titles;

pub use block::{EndLines, LiveBlock, LiveSettings};
pub use event::{FinishedTask, ProgressEvent, ProgressProblem, ProgressView};
pub use github::GithubLog;
pub use gitlab::GitlabLog;
pub use json_events::JsonEvents;
pub use plain::PlainLog;
pub use replay::{Replay, ReplayView, ReplayedJob};
