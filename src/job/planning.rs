//! Plans a job: which operations are done again depends on what has changed since they ran last.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::change::Change;
use super::engine::Engine;
use super::evaluation::Evaluation;
use crate::plan::{self, Plan, Repeats};
use crate::tosca::Operation;
use crate::value::Handle;

/// Compares operations with their last records while a plan is made.
struct Comparing<'t> {
    evaluation: Evaluation<'t>,
    /// Entities that read secrets of which nobody can tell whether they have changed.
    unknown_secrets: RefCell<BTreeSet<Handle>>,
}

impl Repeats for Comparing<'_> {
    fn must_repeat(&self, target: Handle, operation: &Arc<Operation>) -> bool {
        let change = self.evaluation.model_change(target, operation);
        if change == Change::CannotTell {
            self.unknown_secrets.borrow_mut().insert(target);
        }
        change.is_change()
    }
}

impl Engine {
    /// Makes the plan for the goal of the job.
    pub fn plan(&mut self) -> Result<Plan, plan::Error> {
        let comparing = Comparing {
            evaluation: self.evaluation(),
            unknown_secrets: RefCell::default(),
        };
        let plan = plan::plan(&self.topology, &self.options.goal, &comparing);
        let unknown = comparing.unknown_secrets.into_inner();
        self.unknown_secrets.extend(unknown);
        plan
    }
}
