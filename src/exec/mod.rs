//! Runs state machines (jobs, tasks, states) and performs their actions: on this machine directly,
//! elsewhere over the connections of `host`.
//!
//! [`drive`] is the loop, [`Driver`] its source of events, [`LocalRunner`] performs actions on its
//! own thread, and `guard` is the separate process that cleans up after a killed job.

mod action_runner;
mod driver;
mod executable;
mod expression_effects;
mod guard;
mod interactive;
mod job_run;
mod limits;
mod line_splitter;
mod local_action;
mod local_command;
mod local_runner;
mod output_budget;
mod output_file;
mod password_prompts;
mod private_work;
mod process_limits;
mod prompt_responder;
mod request_executor;
mod signal_watcher;
mod stdin_reader;

pub use action_runner::{ActionRunner, Error, RunnerEvent};
#[cfg(test)]
pub use driver::DriverEvent;
pub use driver::{Driver, MachineStep, OnInterrupt, OutputMode, StateMachine, drive};
pub use expression_effects::perform_effect;
pub use guard::{GUARD_COMMAND, GuardOptions, run_guard};
pub use interactive::InteractiveSession;
pub use job_run::run_job;
pub use limits::RunLimits;
pub use local_runner::LocalRunner;
pub use password_prompts::PasswordPrompts;
pub use process_limits::{TooFewDescriptors, prepare_process};
pub use signal_watcher::watch_signals;

#[cfg(test)]
mod tests;
