//! Tasks over hosts: the task engine, and the command `unfurl task`.

mod control;
mod corpus;
mod corpus_over_ssh;
mod documents;
mod engine;
mod executors;
mod import;
mod task;
