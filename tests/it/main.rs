//! The integration tests, built as one program: rules that span several modules, and the behavior of the
//! binary.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and prepares the world by itself"
)]

#[macro_use]
mod requires;

mod add;
mod ansible;
mod approval;
mod artifacts;
mod bad_input;
mod clone;
mod command_line;
mod commit;
#[cfg(feature = "fault-injection")]
mod crash;
mod dependencies;
mod determinism;
mod doc_commands;
mod doctor;
mod documents;
mod drafts;
mod drift;
mod drift_output;
mod environments;
mod equal_ids;
mod examples;
mod executors;
mod export;
mod expressions;
mod fabric_strings;
mod flow;
mod git_safety;
mod guard;
mod hosts;
mod init;
mod inputs;
mod interrupts;
mod inventory;
mod irregular_locks;
mod jobs;
mod late_values;
mod layers;
mod left_out;
mod locking;
mod locks;
mod long_output;
mod machine;
mod memory;
mod memory_disk;
mod merging;
mod mistakes;
mod model;
mod model_errors;
mod names;
mod nested;
mod network;
mod options;
mod packages;
mod pipelines;
mod plan_text;
mod predefined;
mod previous_journals;
mod primary;
mod process_limits;
mod properties;
mod prune;
mod push;
mod python_dsl;
mod reboot;
mod record_safety;
mod recovery;
mod redeploy;
mod remote_operations;
mod repos;
mod run;
mod salt;
#[cfg(feature = "fault-injection")]
mod schedules;
mod schedules_install;
mod schedules_notify;
mod schemas;
mod secret_backends;
mod secret_records;
mod secrets;
mod security;
mod shim;
mod ssh_config;
mod state_modules;
mod states;
mod states_debian;
mod summary_text;
mod support;
mod takeover;
mod task_operations;
mod tasks;
mod teardown;
mod terminal;
mod terraform;
mod terraform_import;
mod unrenderable;
mod upstream;
mod validate;
mod vault;
mod web_imports;
mod why;
