//! Drives runs of jobs, tasks and states, and performs effects: on this machine itself, elsewhere
//! over the connections of `host`.

mod prompt_responder;
mod password_prompts;
mod driver;
mod expression_effects;
mod guard;
mod job_run;
mod limits;
mod local_runner;
mod local_action;
mod action_runner;
mod executable;
mod local_command;
mod request_executor;
mod output_budget;
mod interactive;
mod signal_watcher;

pub use password_prompts::PasswordPrompts;
#[cfg(test)]
pub use driver::DriverEvent;
pub use driver::{Driver, StateMachine, MachineStep, OnInterrupt, OutputMode, drive};
pub use expression_effects::perform_effect;
pub use guard::{GUARD_COMMAND, GuardOptions, run_guard};
pub use job_run::run_job;
pub use limits::RunLimits;
pub use local_runner::LocalRunner;
pub use action_runner::{Error, RunnerEvent, OutputSink, ActionRunner};
pub use interactive::InteractiveSession;
pub use signal_watcher::watch_signals;

#[cfg(test)]
mod tests;
