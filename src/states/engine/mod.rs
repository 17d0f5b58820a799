//! Runs the states of one machine by their requisites (S22–S45): a pure state machine that says
//! which facts it needs and which changes are due, and is told what came of them.

mod aggregate;
mod aggregate_candidates;
mod arguments;
mod batch;
mod call_stack;
mod conditions;
mod engine;
mod evaluate;
mod graph;
mod listen;
mod options;
mod pending_batch;
mod prefetch;
mod requisite_status;
mod requisites;
mod result;
mod retry;
mod running;

pub use engine::{ActionId, Engine, NextAction};
pub use options::{Aggregation, EngineOptions, Timestamp};
pub use result::{StateResult, StateSummary, to_value};

#[cfg(test)]
mod tests;
