//! What is asked of states.

use std::path::PathBuf;

use super::choose_hosts::StateHost;
use crate::host::{Question, Secret};
use crate::states::RunOrdering;
use crate::system::signals::Interrupts;
use crate::value::Map;

/// The states that are meant.
#[derive(Debug, Clone, PartialEq)]
pub enum StateSelection {
    /// Those that the top file has for each machine.
    Top,
    /// Those of these state files, in order.
    Sls(Vec<String>),
    /// One function, without a file: `pkg.installed` with its arguments.
    Single {
        /// The module and the function.
        function: String,
        /// Its arguments; `name` says what it is about.
        arguments: Map,
    },
}

/// Which states, and what they are told.
#[derive(Debug, Clone)]
pub struct StatesSource {
    /// Which.
    pub selection: StateSelection,
    /// The folders of state files; the first that has a file counts.
    pub roots: Vec<PathBuf>,
    /// What states read as pillar.
    pub pillar: Map,
    /// What states read as grains, over what machines are like.
    pub grains: Map,
    /// Settings, in the form of Salt's minion configuration.
    pub options: Map,
    /// How the order is made.
    pub ordering: RunOrdering,
}

/// How machines wait for each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MachinePace {
    /// Where no state has a requisite, all come to a state before any goes on (P29); else each
    /// goes on by itself.
    #[default]
    Lockstep,
    /// One after the other (P37).
    Serial,
    /// Each goes on by itself (P37).
    Independent,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct StatesRequest {
    /// Which states.
    pub source: StatesSource,
    /// On which machines, in the order of the inventory.
    pub hosts: Vec<StateHost>,
    /// Whether hosts were named; one that fails then leaves the run (P34).
    pub has_named_hosts: bool,
    /// How they wait for each other.
    pub pace: MachinePace,
    /// The most machines at the same time.
    pub parallel: usize,
    /// The run stops when more than so many percent of the machines have failed (P35).
    pub fail_percent: Option<u8>,
    /// Whether nothing is changed.
    pub test: bool,
    /// The user to act as, if another one.
    pub sudo: Option<String>,
    /// Tells whether somebody asks for an end.
    pub interrupts: Interrupts,
}

/// Shows what happens, and asks people.
pub trait StatesView {
    /// So many states will run on so many machines.
    fn run_started(&mut self, machines: usize, states: usize);

    /// A state begins on a machine.
    fn state_started(&mut self, machine: &str, state: &str);

    /// A state has ended on a machine.
    fn state_finished(&mut self, machine: &str, state: &str);

    /// Asks for a secret; none if nobody answers.
    fn prompt_secret(&mut self, question: &Question) -> Option<Secret>;
}
