//! Conditions on the target of a task or of a workflow's step.

use super::evaluation::Evaluation;
use super::task::Task;
use crate::expr::{Reads, Scope as _, admits};
use crate::value::{Handle, Map, Value};

/// Whether a target meets the conditions of an operation.
pub(super) enum Condition {
    /// It does; these were read.
    Met(Reads),
    /// It does not, and why.
    Unmet(String),
}

impl Evaluation<'_> {
    /// Compares a target with the `preConditions` of a task's operation; none if it has none.
    pub(super) fn condition(&self, task: &Task) -> Option<Condition> {
        let implementation = task.spec.operation.implementation.as_ref()?;
        let schema = implementation.pre_conditions.as_ref()?;
        let target = task.spec.target;
        let evaluator = self.evaluator_for(task);
        let attributes = match self.attributes_of(&evaluator, target) {
            Ok(attributes) => attributes,
            Err(error) => {
                let why = format!("its preConditions cannot be looked at: {error}");
                return Some(Condition::Unmet(why));
            }
        };
        Some(match admits(&attributes, schema) {
            Ok(true) => Condition::Met(evaluator.take_reads()),
            Ok(false) => {
                let of = &self.topology.entity(target).name;
                Condition::Unmet(format!("`{of}` does not meet the preConditions {schema}"))
            }
            Err(why) => Condition::Unmet(format!("invalid preConditions: {why}")),
        })
    }

    /// All attributes and properties of an entity, evaluated.
    fn attributes_of(
        &self,
        evaluator: &crate::expr::Evaluator,
        of: Handle,
    ) -> Result<Value, crate::expr::Error> {
        let mut attributes = Map::new();
        for name in self.topology.attribute_names(of) {
            if let Some(value) = evaluator.attribute(of, &name)? {
                attributes.insert(name, value);
            }
        }
        Ok(Value::from(attributes))
    }
}
