//! The state engine: runs the states of one machine in the order of their requisites (S22–S45).
//!
//! [`Engine`] is a pure state machine: it returns the facts and changes it needs as [`NextAction`], and its
//! caller reports the results. No file here performs I/O or reads the clock.

mod aggregate;
mod aggregate_candidates;
mod arguments;
mod batch;
mod call_stack;
mod conditions;
mod engine;
mod environment_contexts;
mod evaluate;
mod graph;
mod listen;
mod options;
mod outcome_secrets;
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
