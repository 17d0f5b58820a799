//! Directed acyclic graphs: a queue that releases what is ready, orders, cycles. Knows nothing of
//! what the nodes are.

mod order;
mod queue;

pub use order::{Cycle, dependencies_first, find_cycle};
pub use queue::ReadyQueue;
