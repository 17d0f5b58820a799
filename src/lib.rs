//! Unfurl brings systems to the state a TOSCA model describes and keeps the record in git.
//!
//! This page is the map of the house. Modules stand in numbered layers; a module imports modules
//! of lower layers only, and `tests/it/layers` keeps it so.
//!
//! Programs use [`main`] alone; all modules are private, and [`testing`] is the door for tests.
//!
//! | layer | modules | what they do |
//! |---|---|---|
//! | 15 | [`cli`] | what was typed → options → one `ops` call → exit code |
//! | 13 | [`ops`], [`ui`] | one file per use case; types into text |
//! | 12 | [`session`], [`export`] | finds and loads an ensemble, with all that it uses; an ensemble for other programs |
//! | 11 | [`fleet`] | runs over many hosts: tasks, states and facts |
//! | 10 | [`ensemble`], [`exec`] | an ensemble on disk; the driver that performs effects |
//! | 9 | [`job`], [`configurator`] | runs a plan; ways to implement an operation |
//! | 8 | [`task`] | what engine and configurator promise each other |
//! | 7 | [`plan`], [`states`], [`tasks`] | decides what to do and why, what states of hosts need, and which task runs where; touches nothing |
//! | 6 | [`topology`], [`project`] | what exists now; projects and environments |
//! | 5 | [`host`], [`lock`] | actions on machines; locks of ensembles |
//! | 4 | [`tosca`], [`git`], [`secret`] | meaning; history; keys |
//! | 3 | [`yaml`], [`expr`], [`system`] | text, language, this machine |
//! | 2 | [`value`] | dynamic values and digests; fast tables |
//! | 1 | [`name`], [`diagnostic`], [`dag`], [`text`] | vocabulary |
//!
//! A deploy is a one-way pipeline of types, spelled out in [`ops::deploy`]:
//! `Found → Manifest → ServiceTemplate → Topology → Plan → Engine ⇒ Event* → Report → Record`.
//! The engine of a job starts no task: it hands requests to the driver of [`exec`], which performs
//! them, and takes their results. The journal, the log, the screen and the record of the job are
//! made from its events and its report.

mod cli;
mod configurator;
mod dag;
mod diagnostic;
mod ensemble;
mod exec;
mod export;
mod expr;
mod fleet;
mod git;
mod host;
mod job;
mod lock;
mod name;
mod ops;
mod plan;
mod project;
mod secret;
mod session;
mod states;
mod system;
mod task;
mod tasks;
pub mod testing;
mod text;
mod topology;
mod tosca;
mod ui;
mod value;
mod yaml;

pub use cli::main;
