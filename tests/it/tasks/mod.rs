//! Tasks over hosts: the task engine, and the command `unfurl task`.

mod corpus;
mod corpus_over_ssh;
mod engine;
mod task;
