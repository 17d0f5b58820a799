//! Renders view types as text and JSON.
//!
//! Makes no decisions and reads nothing of the system: width, colour and input come from the caller
//! (`cli`). Only [`Progress`] and the prompts write by themselves, to the target they are given.

mod change;
mod diagnostics;
mod doctor;
mod explain;
mod history;
mod hosts;
mod inputs;
mod json;
mod plan;
mod progress;
mod prompt;
mod sarif;
mod skipped;
mod states;
mod status;
mod summary;
mod table;
pub mod words;

pub use change::ChangeView;
pub use diagnostics::DiagnosticRenderer;
pub use doctor::{CheckLine, DoctorView};
pub use explain::{ExplainFact, ExplainView, LastChange, LinkView};
pub use history::{JobLine, JobView, JobsView, TaskLine};
pub use hosts::{HostColours, HostDetail, HostLines, HostSummary, OutputChannel, host_event};
pub use inputs::{InputView, inputs_json, inputs_text};
pub use json::{pretty, yaml};
pub use plan::{PlanEntry, PlanNode, PlanTask, PlanView};
pub use progress::Progress;
pub use prompt::{read_approval, read_confirmation};
pub use sarif::sarif;
pub use skipped::{OrphanLine, SkippedView};
pub use states::{StateCounts, StateDetail, StateLine, host_table, nested, state_lines};
pub use status::{StatusLine, status_text};
pub use summary::{QueryView, SummaryView, TaskEnd, TaskRow};
pub use table::{Align, Table};
