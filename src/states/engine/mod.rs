//! Runs the states of one machine by their requisites (S22–S45): a pure state machine that says
//! which facts it needs and which changes are due, and is told what came of them.

mod aggregate;
mod batch;
mod arguments;
mod aggregate_candidates;
mod conditions;
mod evaluate;
mod running;
mod engine;
mod call_stack;
mod graph;
mod listen;
mod requisites;
mod result;
mod retry;
mod options;
mod requisite_status;
mod prefetch;
mod pending_batch;

pub use engine::{ActionId, Engine, NextAction};
pub use result::{StateResult, StateSummary, to_value};
pub use options::{Aggregation, EngineOptions, Timestamp};

#[cfg(test)]
mod tests;
