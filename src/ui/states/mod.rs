//! What became of states, as Salt's users know it (S46), and as a table over hosts.

mod nested;
mod summary;
mod text;

pub use nested::nested;
pub use summary::{StateCounts, StateLine, host_table};
pub use text::{StateDetail, state_lines};
