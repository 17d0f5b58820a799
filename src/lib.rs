#![doc = include_str!("../docs/contributing/map.md")]

mod cli;
mod configurator;
mod dag;
mod diagnostic;
mod drift;
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
mod package;
mod plan;
mod project;
mod schedule;
mod secret;
mod session;
mod skeleton;
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
mod web;
mod yaml;

pub use cli::main;
