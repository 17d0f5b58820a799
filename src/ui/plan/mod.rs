//! Renders plans: the text for people, and the JSON in Unfurl's format.

mod instance;
mod text;
mod view;

pub use text::PlanText;
pub(super) use view::ExternalJob;
pub use view::{PlanEntry, PlanInstance, PlanNode, PlanOperation, PlanTask, PlanValue, PlanView};
