//! Renders view types as text and JSON.
//!
//! Makes no decisions and reads nothing of the system: width, colour and input come from the caller
//! (`cli`). Only the prompts write by themselves, to the target they are given.

mod action;
mod change;
mod diagnostics;
mod doctor;
mod drift;
mod drift_note;
mod explain;
mod history;
mod host_groups;
mod host_inventory;
mod host_summary;
mod hosts;
mod inputs;
mod job_result;
mod json;
mod layout;
mod live;
mod markdown;
mod paint;
mod plan;
mod prompt;
mod sarif;
mod skipped;
mod states;
mod status;
mod step_summary;
mod summary;
mod table;
mod transfer_line;
pub mod upstream;
mod value_diff;
mod value_text;
pub mod words;

pub use action::{count_actions, done_counts};
pub use change::ChangeView;
pub use diagnostics::DiagnosticRenderer;
pub use doctor::{CheckLine, DoctorView};
pub use drift::{
    DriftLogView, DriftStyle, NextCommands, drift_json, drift_junit, drift_markdown, drift_sarif,
    drift_text,
};
pub use drift_note::{drift_note, drift_note_json};
pub use explain::{ExplainFact, ExplainView, FailureLine, LastChange, LinkView};
pub use history::{JobLine, JobView, JobsView, TaskLine};
pub use host_groups::{group_hosts, host_list, without_name};
pub use host_inventory::HostInventoryView;
pub use host_summary::HostSummary;
pub use hosts::{HostColours, HostDetail, HostLines, OutputChannel, host_event};
pub use inputs::{InputView, inputs_json};
pub use job_result::{InstanceOutcome, InstanceRow, JobEnd, JobResult, TaskFailure, is_trouble};
pub use json::{pretty, yaml};
pub use layout::Layout;
pub use live::{
    EndLines, FinishedTask, GithubLog, GitlabLog, JsonEvents, LiveBlock, LiveSettings, PlainLog,
    ProgressEvent, ProgressProblem, ProgressView, Replay, ReplayView, ReplayedJob,
};
pub use paint::Paint;
pub use plan::{
    PlanEntry, PlanInstance, PlanNode, PlanOperation, PlanTask, PlanText, PlanValue, PlanView,
};
pub use prompt::{Answer, job_question, read_approval, read_confirmation, states_question};
pub use sarif::sarif;
pub use skipped::{OrphanLine, SkippedView};
pub use states::{
    HostStates, StateCounts, StateDetail, StateLine, host_states_text, nested, state_lines,
};
pub use status::{StatusLine, age_text, status_tree};
pub use step_summary::{StepInstance, StepResult, StepSummary};
pub use summary::{QueryView, SummaryView, TaskEnd, TaskRow};
pub use table::{Align, Table, TableLayout};
pub use transfer_line::TransferLine;
