//! Directed acyclic graphs: [`ReadyQueue`] releases nodes whose dependencies are done; `order` sorts nodes
//! so that dependencies come first and finds cycles. The modules `plan`, `job`, `states`, `topology` and
//! `tosca` use it; it knows nothing about the meaning of the nodes.

mod order;
mod queue;

pub use order::{Cycle, dependencies_first, find_cycle};
pub use queue::ReadyQueue;
