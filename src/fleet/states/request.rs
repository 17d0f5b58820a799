//! What is asked of states.

use std::path::PathBuf;

use super::hosts::StateHost;
use crate::converge::Ordering;
use crate::host::{Question, Secret};
use crate::system::signals::Interrupts;
use crate::value::Map;

/// The states that are meant.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Those that the top file has for each machine.
    Top,
    /// Those of these state files, in order.
    Sls(Vec<String>),
    /// One function, without a file: `pkg.installed` with its arguments.
    One {
        /// The module and the function.
        function: String,
        /// Its arguments; `name` says what it is about.
        arguments: Map,
    },
}

/// Which states, and what they are told.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Which.
    pub what: What,
    /// The folders of state files; the first that has a file counts.
    pub roots: Vec<PathBuf>,
    /// What states read as pillar.
    pub pillar: Map,
    /// What states read as grains, over what machines are like.
    pub grains: Map,
    /// Settings, in the form of Salt's minion configuration.
    pub options: Map,
    /// How the order is made.
    pub ordering: Ordering,
}

/// How machines wait for each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pace {
    /// Where no state has a requisite, all come to a state before any goes on (P29); else each
    /// goes on by itself.
    #[default]
    Together,
    /// One after the other (P37).
    Serial,
    /// Each goes on by itself (P37).
    Alone,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct StatesRequest {
    /// Which states.
    pub tree: Tree,
    /// On which machines, in the order of the inventory.
    pub hosts: Vec<StateHost>,
    /// Whether hosts were named; one that fails then leaves the run (P34).
    pub over_hosts: bool,
    /// How they wait for each other.
    pub pace: Pace,
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
    fn begins(&mut self, machines: usize, states: usize);

    /// A state begins on a machine.
    fn state_begins(&mut self, machine: &str, state: &str);

    /// A state has ended on a machine.
    fn state_ends(&mut self, machine: &str, state: &str);

    /// Asks for a secret; none if nobody answers.
    fn ask(&mut self, question: &Question) -> Option<Secret>;
}
