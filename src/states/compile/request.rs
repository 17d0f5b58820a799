//! What is compiled, and what comes of it.

use std::sync::Arc;

use super::dag_order::OrderEntry;
use crate::diagnostic::{Diagnostics, Sources};
use crate::host::fact::Fact;
use crate::states::{LowData, RunOrdering};
use crate::value::Value;

/// What to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileRequest {
    /// Which state files.
    pub targets: StateTargets,
    /// How run order is made.
    pub ordering: RunOrdering,
    /// SLS to leave out, beside those that files exclude (S9).
    pub exclude: Vec<String>,
}

/// Which state files are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateTargets {
    /// These, in this order (S6); names may be globs.
    Sls(Vec<String>),
    /// Those that the top file gives the machine (S7).
    Highstate,
}

/// A compiled state tree with what it came from.
#[derive(Debug, Clone)]
pub struct CompiledStates {
    /// The chunks and their order.
    pub low: Arc<LowData>,
    /// For [`Ordering::Dag`] all turns in order, with the tests that `prereq` asks for; for
    /// [`Ordering::Classic`] the chunks by number.
    pub order_entries: Vec<OrderEntry>,
    /// The high data, as written (S1).
    pub(super) high: Value,
    /// The SLS of each environment that the top file gives the machine, for
    /// [`Targets::Highstate`].
    pub top: Value,
    /// Whether the top file gives the machine nothing (S7).
    pub is_unmatched: bool,
    /// The SLS that were rendered, in the order in which they were begun, with their paths.
    pub files: Vec<(Arc<str>, String)>,
    /// The texts that were read; those with Jinja as they were rendered.
    pub sources: Sources,
    /// What is odd.
    pub warnings: Diagnostics,
}

/// Why there is no compiled tree.
#[derive(Debug)]
pub enum CompileError {
    /// Templates ask these facts of the machine; compile again when they are known.
    Needs(Vec<Fact>),
    /// All that is wrong, and the texts in which it is.
    Problems(Diagnostics, Box<Sources>),
}
