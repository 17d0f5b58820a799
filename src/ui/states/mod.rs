//! Renders results of states.
//!
//! The text has Salt's highstate format (S46). Runs over several hosts also get a table of hosts.

mod nested;
mod summary;
mod text;

pub use nested::nested;
pub use summary::{StateCounts, StateLine, host_table};
pub use text::{StateDetail, state_lines};
