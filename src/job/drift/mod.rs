//! Drift of one ensemble: compares the results of its checks, the record and the plan of a deploy. Runs nothing.

mod check;
mod check_findings;
mod compare;
mod differences;
mod pending;
mod states;

pub use compare::{DriftFound, DriftInput};
pub use states::SeenState;
