//! Task views: gives a configurator access to one task and records the values that it reads.

use std::collections::HashMap;

use super::evaluation::Evaluation;
use super::task::{Task, TaskSpec};
use crate::expr::{Context, Error, Evaluator, Reads};
use crate::host::Variables;
use crate::host::services::HostServices;
use crate::task::{EnvironmentProvider, OperationHost, TaskSettings, TaskView};
use crate::topology::{EntityKind, InventoryHost};
use crate::value::{EnvRuleOptions, Handle};

impl Evaluation<'_> {
    /// Calls `inspect` with a view of a task. Returns its result and the values read meanwhile.
    pub(super) fn with_view<T>(
        &self,
        task: &Task,
        strict: bool,
        inspect: impl FnOnce(&TaskView<'_>) -> T,
    ) -> (T, Reads) {
        let evaluator = self.evaluator_for(task);
        for of in self.context_entities(task) {
            evaluator.record_entity(of);
        }
        let mut context = task.inputs.context.clone();
        context.strict = strict;
        let environment = TaskEnvironment {
            evaluation: *self,
            evaluator: &evaluator,
            context: &context,
            task,
            rules: task
                .spec
                .operation
                .implementation
                .as_ref()
                .map(|i| &i.environment),
        };
        let settings = TaskSettings {
            operation: &task.spec.reference,
            outputs: &task.spec.operation.outputs,
            dry_run: self.options.goal.dry_run,
            check_only: task.spec.check_only,
            base_dir: &self.options.base_dir,
            time_limit: task.time_limit(),
            echo: self.options.echo,
            capture: self.options.capture,
            target_status: self.topology.entity(task.spec.target).local,
        };
        let view = TaskView::new(
            settings,
            &task.inputs.raw,
            &evaluator,
            &context,
            (&environment, &*self.context.local_context),
        );
        let result = inspect(&view);
        let reads = evaluator.take_reads();
        (result, reads)
    }

    /// Returns the values that the operation's environment rules read.
    pub(super) fn environment_reads(&self, task: &Task) -> Reads {
        let implementation = task.spec.operation.implementation.as_ref();
        if implementation.is_none_or(|it| it.environment.is_empty()) {
            return Reads::default();
        }
        // Errors in the environment are reported when the task is rendered.
        let (is_right, reads) = self.with_view(task, true, |view| view.environment().is_ok());
        if is_right { reads } else { Reads::default() }
    }

    /// Returns the entities that a task's variables refer to, in the order in which records list reads of
    /// them.
    fn context_entities(&self, task: &Task) -> impl Iterator<Item = Handle> {
        let of = task.spec.target;
        let topology = &self.topology;
        let entity = topology.entity(of);
        let source = entity.is_relationship().then(|| topology.source_of(of));
        let end = entity.is_relationship().then(|| topology.target_of(of));
        let (source, end) = (source.flatten(), end.flatten());
        let node = end.unwrap_or(of);
        let host = topology.entity(node).parent.unwrap_or(node);
        let orchestrator = topology.find_from(of, "localhost");
        let all = [
            Some(of),
            Some(host),
            orchestrator,
            source,
            end,
            task.spec.artifact,
        ];
        all.into_iter().flatten()
    }
}

/// The environment of one task's commands, evaluated on demand.
pub(super) struct TaskEnvironment<'a> {
    pub(super) evaluation: Evaluation<'a>,
    pub(super) evaluator: &'a Evaluator,
    context: &'a Context,
    pub(super) task: &'a Task,
    rules: Option<&'a crate::value::Map>,
}

impl EnvironmentProvider for TaskEnvironment<'_> {
    fn variables(&self) -> Result<Variables, Error> {
        self.variables_with(EnvRuleOptions::default())
    }

    fn machine(&self) -> Result<OperationHost, Error> {
        let TaskSpec {
            target, operation, ..
        } = &self.task.spec;
        let place = self
            .evaluation
            .operation_location(*target, operation, self.evaluator)?;
        Ok(OperationHost {
            location: place,
            // Variables of this machine are meaningless on another one, so only added ones are passed.
            variables: self.added_variables()?,
            key: self.evaluation.idempotency_key(self.task),
        })
    }

    fn added_variables(&self) -> Result<Variables, Error> {
        self.variables_with(EnvRuleOptions {
            add_only: true,
            ..EnvRuleOptions::default()
        })
    }

    fn inventory_host(&self) -> Result<Option<InventoryHost>, Error> {
        let TaskSpec {
            target, operation, ..
        } = &self.task.spec;
        self.evaluation
            .inventory_host(*target, operation, self.evaluator)
    }

    fn host_services(&self, hosts: &[String]) -> Result<HostServices, Error> {
        let target = self.task.spec.target;
        self.evaluation
            .host_services_for(target, hosts, self.evaluator)
    }
}

impl TaskEnvironment<'_> {
    fn variables_with(&self, options: EnvRuleOptions<'_>) -> Result<Variables, Error> {
        let base = &self.evaluation.options.environment;
        let mut rules = self
            .evaluation
            .connection_rules(self.context, self.evaluator)?;
        for (name, raw) in self.rules.into_iter().flatten() {
            rules.push((
                name.to_string(),
                self.evaluator.evaluate(raw, self.context)?,
            ));
        }
        let mut variables = match rules.as_slice() {
            [] if options.add_only => Variables::default(),
            [] => base.clone(),
            rules => Variables::from_rules(rules, base, options),
        };
        self.add_relationship(&mut variables);
        Ok(variables)
    }

    /// Adds the variables that TOSCA 1.3 defines for operations of relationships.
    fn add_relationship(&self, variables: &mut Variables) {
        let topology = &self.evaluation.topology;
        let EntityKind::Relationship {
            source: Some(source),
            capability,
            ..
        } = &topology.entity(self.task.spec.target).kind
        else {
            return;
        };
        let Some(target) = topology.target_of(self.task.spec.target) else {
            return;
        };
        let key = |handle: Handle| topology.entity(handle).key.to_string();
        let capability = capability.as_deref().unwrap_or("feature");
        let mut added = HashMap::new();
        added.insert(
            "TARGETS",
            format!("{}::.capabilities::[.name={capability}]", key(target)),
        );
        added.insert("TARGET", key(target));
        added.insert("SOURCE", key(*source));
        let name = &topology.entity(self.task.spec.target).name;
        let siblings = topology
            .entity(*source)
            .node()
            .map_or(&[][..], |node| &node.requirements);
        let named = siblings
            .iter()
            .filter(|r| topology.entity(**r).name == *name);
        added.insert(
            "SOURCES",
            named.map(|r| key(*r)).collect::<Vec<_>>().join(","),
        );
        variables.retain(|name, _| !added.contains_key(name));
        let mut added: Vec<_> = added.into_iter().collect();
        added.sort_unstable();
        variables.extend(
            added
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
    }
}
