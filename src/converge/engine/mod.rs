//! Runs the states of one machine by their requisites (S22–S45): a pure state machine that says
//! which facts it needs and which changes are due, and is told what came of them.

mod aggregate;
mod ahead;
mod arguments;
mod candidates;
mod conditions;
mod decide;
mod doing;
mod engine;
mod frame;
mod graph;
mod listen;
mod requisites;
mod result;
mod retry;
mod setup;
mod standing;
mod survey;
mod window;

pub use engine::{DeedId, Engine, Next};
pub use result::{StateResult, Summary, to_value};
pub use setup::{Aggregation, Setup, Stamp};

#[cfg(test)]
mod tests;
