//! Renders results of states.
//!
//! The text has Salt's highstate format (S46). Runs over several hosts also get a line per
//! group of hosts with the same outcome.

mod nested;
mod summary;
mod text;

pub use nested::nested;
pub use summary::{HostStates, StateCounts, StateLine, host_states_text};
pub use text::{StateDetail, state_lines};
