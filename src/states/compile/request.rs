//! The input and the results of the state compiler.

use std::sync::Arc;

use super::dag_order::OrderEntry;
use crate::diagnostic::{Diagnostics, Sources};
use crate::host::fact::Fact;
use crate::states::{LowData, RunOrdering};
use crate::value::Value;

/// A request to compile the states of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileRequest {
    pub targets: StateTargets,
    pub ordering: RunOrdering,
    /// Decides whether calls and requisites that cannot work are errors.
    pub purpose: CompilePurpose,
    /// SLS files to exclude, in addition to the `exclude` entries in the files (S9).
    pub exclude: Vec<String>,
}

/// The purpose for which states are compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CompilePurpose {
    /// The states are shown. As in Salt, their functions need not exist.
    #[default]
    Show,
    /// The states run. All that is certain to fail is reported before anything runs.
    Run,
}

/// The choice of state files to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateTargets {
    /// These SLS files in this order (S6). Names may be globs.
    Sls(Vec<String>),
    /// The SLS files that the top file assigns to the machine (S7).
    Highstate,
}

/// The compiled states of a machine, with the data that `state.show_*` commands display.
#[derive(Debug, Clone)]
pub struct CompiledStates {
    /// The chunks and the order they run in.
    pub low: Arc<LowData>,
    /// The positions of the run order. With [`RunOrdering::Dag`] they include the test runs that `prereq`
    /// needs; with [`RunOrdering::Classic`] they are the chunks by order number.
    pub order_entries: Vec<OrderEntry>,
    /// The high data as written, before extensions (S1).
    pub(super) high: Value,
    /// The SLS names that the top file assigns to the machine, by environment. Empty unless the target is
    /// [`StateTargets::Highstate`].
    pub top: Value,
    /// Whether the top file assigns no SLS to the machine (S7).
    pub is_unmatched: bool,
    /// The rendered SLS files with their paths, in the order in which rendering began.
    pub files: Vec<(Arc<str>, String)>,
    /// The source texts for diagnostics. Files with Jinja are kept in their rendered form.
    pub sources: Sources,
    pub warnings: Diagnostics,
}

/// The reason why compilation produced no result.
#[derive(Debug)]
pub enum CompileError {
    /// Templates read these facts of the machine. Compile again once they are known.
    Needs(Vec<Fact>),
    /// The errors in the state files, with the source texts they refer to.
    Problems(Diagnostics, Box<Sources>),
}
