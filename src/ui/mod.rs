//! Turns types into text; writes only to the writer it is given. Decides nothing and reads nothing
//! of the world: width, colour and input come from the caller.

mod change;
mod diagnostics;
mod explain;
mod history;
mod hosts;
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
pub use explain::{ExplainFact, ExplainView, LastChange, LinkView};
pub use history::{JobLine, JobView, JobsView, TaskLine};
pub use hosts::{HostDetail, HostLines, HostSummary, OutputChannel, host_event};
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
