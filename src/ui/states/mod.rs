//! What became of states, as Salt's users know it (S46), and as a table over hosts.

mod line;
mod nested;
mod summary;
mod text;

pub use line::StateLine;
pub use nested::nested;
pub use summary::{StateCounts, host_table};
pub use text::{StateDetail, state_lines};
