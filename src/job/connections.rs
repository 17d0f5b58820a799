//! The connections of a task: their variable in expressions, and the variables of its commands.

use std::sync::Arc;

use super::evaluation::Evaluation;
use crate::expr::{Context, Error, Evaluator, Var};
use crate::tosca::Operation;
use crate::value::{Handle, Map, Value};

/// The variable of expressions that holds the connections of a task.
pub(super) const CONNECTIONS: &str = "connections";
/// The instance that stands for this machine.
const THIS_MACHINE: &str = "localhost";

impl Evaluation<'_> {
    /// Returns the connections of a task by name. Of several with the same name, the nearest one counts.
    pub(super) fn connections_of_task(&self, target: Handle, operation: &Operation) -> Map {
        let named = self.operation_host(target, operation);
        let host = named.or_else(|| self.topology.find_from(target, THIS_MACHINE));
        let connections = self.topology.task_connections(target, host);
        let named = connections.into_iter().map(|connection| {
            let name = self.topology.entity(connection).name.shared();
            (name, self.topology.reference(connection))
        });
        named.collect()
    }

    /// Returns the variables that a task's connections set for its commands: one connection of each type.
    ///
    /// As in Unfurl, the values read for them are not values that the task depends on.
    pub(super) fn connection_rules(
        &self,
        context: &Context,
        evaluator: &Evaluator,
    ) -> Result<Vec<(String, Value)>, Error> {
        let Some(Var::Connections(connections)) = context.vars.get(CONNECTIONS) else {
            return Ok(Vec::new());
        };
        let handles: Vec<Handle> = connections.values().filter_map(Value::as_entity).collect();
        let chosen = self.topology.one_of_each_type(&handles);
        let variables_with = |evaluator: &Evaluator| {
            let topology = &self.topology;
            topology.variables_of_connections(&chosen, evaluator)
        };
        let apart = self.evaluator();
        let variables = match variables_with(&apart) {
            Ok(variables) if apart.take_reads().writes().is_empty() => variables,
            // Attributes that are not set yet defer the task, and requested files are written for it.
            _ => variables_with(evaluator)?,
        };
        let rules = variables.into_iter();
        Ok(rules
            .map(|(name, value)| (name.to_string(), value))
            .collect())
    }

    pub(super) fn connections_variable(&self, target: Handle, operation: &Operation) -> Var {
        Var::Connections(Arc::new(self.connections_of_task(target, operation)))
    }
}
