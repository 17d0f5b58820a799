//! Tasks over hosts: the engine as a whole, and the command that runs them.

mod corpus;
mod engine;
mod task;
