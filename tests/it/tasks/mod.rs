//! Tasks over hosts: the task engine, and the command `unfurl task`.

mod corpus;
mod engine;
mod task;
