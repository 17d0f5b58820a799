//! Conditions on the target of a task or of a workflow's step.

use super::engine::Engine;
use super::task::TaskIndex;
use crate::expr::{Scope as _, admits};
use crate::value::{Handle, Map, Value};

impl Engine {
    /// The `preConditions` of a task's operation that its target does not meet, in words. What
    /// they look at counts as read by the task if they are met.
    pub(super) fn unmet_condition(&mut self, index: TaskIndex) -> Option<String> {
        let task = &self.tasks[index];
        let implementation = task.operation.implementation.as_ref()?;
        let schema = implementation.pre_conditions.clone()?;
        let target = task.target;
        let evaluator = self.evaluator_for(index);
        let attributes = match self.attributes_of(&evaluator, target) {
            Ok(attributes) => attributes,
            Err(error) => return Some(format!("its preConditions cannot be looked at: {error}")),
        };
        let reads = evaluator.take_reads();
        drop(evaluator);
        match admits(&attributes, &schema) {
            Ok(true) => {
                self.commit_reads(index, &reads);
                None
            }
            Ok(false) => {
                let of = &self.topology.entity(target).name;
                Some(format!("`{of}` does not meet the preConditions {schema}"))
            }
            Err(why) => Some(format!("invalid preConditions: {why}")),
        }
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
