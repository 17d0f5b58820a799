//! The steps of a run: an action besides the tool's own work, and the end.

use crate::host::{Action, ActionResult};
use crate::task::{EffectRole, RunStep, TaskEffect, TaskOutcome};

/// Returns the step that ends a run.
pub(super) fn done(outcome: TaskOutcome) -> RunStep {
    RunStep::Done(Box::new(outcome))
}

/// Returns the step for an action that prepares a run or cleans up after it.
pub(super) fn auxiliary(action: Action) -> RunStep {
    let mut effect = TaskEffect::on_local(action);
    effect.role = EffectRole::Auxiliary;
    RunStep::Perform(Box::new(effect))
}

/// Ends the run after the private folder was closed.
pub(super) fn closed(mut outcome: TaskOutcome, result: Option<ActionResult>) -> RunStep {
    let exit = result.map(|result| result.exit().clone());
    if let Some(exit) = exit.filter(|exit| !exit.is_ok()) {
        outcome.success = false;
        outcome.errors.push(format!(
            "the state cannot be kept: {exit}; it stays in the private folder, and the next job takes it from there"
        ));
    }
    done(outcome)
}
