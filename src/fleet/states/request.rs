//! The request to apply or compile states, and the view that shows the run.
//!
//! `cli::request::states` builds the request; `cli::screen::states` implements the view.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use super::choose_hosts::StateHost;
use crate::host::{ExecutorChain, Passwords, PoolLimits, Question, Secret};
use crate::states::RunOrdering;
use crate::system::signals::Interrupts;
use crate::value::Map;

/// The states to apply: from the top file, from named files, or typed.
#[derive(Debug, Clone, PartialEq)]
pub enum StateSelection {
    /// The states that the top file assigns to each machine.
    Top,
    /// The states of these state files, in order.
    Sls(Vec<String>),
    /// A single state function without a file, such as `pkg.installed` with its arguments.
    Single {
        /// The module and the function, such as `pkg.installed`.
        function: String,
        /// The arguments. `name` is the object that the state manages.
        arguments: Map,
    },
}

/// The states to compile, their source folders and the data that they read.
#[derive(Debug, Clone)]
pub struct StatesSource {
    pub selection: StateSelection,
    /// The folders with state files, by environment. The first folder that contains a file wins.
    pub roots: IndexMap<Arc<str>, Vec<PathBuf>>,
    /// True if state files may be programs in Python (`--allow python`).
    pub allows_python: bool,
    /// The pillar that all machines share.
    pub pillar: Map,
    /// Grains that override those read from the machines.
    pub grains: Map,
    /// Settings in the form of Salt's minion configuration.
    pub options: Map,
    /// The rules by which requisites and `order` determine the order of states.
    pub ordering: RunOrdering,
}

/// The way in which machines wait for each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MachinePace {
    /// If no state has a requisite, all machines finish a state before any goes on (P29). Otherwise
    /// each machine runs independently.
    #[default]
    Lockstep,
    /// Machines run one after the other (P37).
    Serial,
    /// Each machine runs without waiting for others (P37).
    Independent,
}

/// A request to apply states to machines, or to compile them.
#[derive(Debug, Clone)]
pub struct StatesRequest {
    pub source: StatesSource,
    /// The machines, in the order of the inventory.
    pub hosts: Vec<StateHost>,
    /// Whether hosts were named on the command line. If so, a failed state ends the run on its host
    /// (P34).
    pub has_named_hosts: bool,
    /// The way in which the machines wait for each other.
    pub pace: MachinePace,
    /// The maximum number of machines that run at the same time.
    pub parallel: usize,
    /// The run stops when more than this percentage of the machines have failed (P35).
    pub fail_percent: Option<u8>,
    /// Whether to report changes without making them.
    pub test: bool,
    /// The user to act as, if not the user who logs in.
    pub sudo: Option<String>,
    /// The chain of executors around each action, which replaces `sudo`.
    pub chain: Option<Arc<ExecutorChain>>,
    /// The limits of connections to machines.
    pub connections: PoolLimits,
    /// The passwords that are known at the start.
    pub passwords: Passwords,
    pub interrupts: Interrupts,
}

/// The view of a run of states, which also asks the user for passwords.
pub trait StatesView {
    /// The run starts: the number of machines, and of the states on all of them.
    fn run_started(&mut self, machines: usize, states: usize);

    /// A state starts on a machine.
    fn state_started(&mut self, machine: &str, state: &str);

    /// A state has ended on a machine.
    fn state_finished(&mut self, machine: &str, state: &str);

    /// Asks the user for a secret. None without an answer.
    fn prompt_secret(&mut self, question: &Question) -> Option<Secret>;
}
