//! Tells a tool with a state of its own about its task.

use std::sync::Arc;

use super::evaluation::Evaluation;
use super::task::Task;
use super::task_view::TaskEnvironment;
use crate::expr::{DirectoryOwner, Error};
use crate::name::Status;
use crate::task::{SavedPlan, StateCipher, ToolFacts, ToolProvider};
use crate::value::{Map, Value, canonical_sha256};

/// The number of hexadecimal digits that tell the private folders of an ensemble's instances apart.
const KEY_LENGTH: usize = 24;

impl Evaluation<'_> {
    /// Returns true if the workflow of a task removes its target.
    pub(super) fn removes_target(&self, task: &Task) -> bool {
        let goal = self.options.goal.workflow.as_str();
        let workflow = self.workflow_of(task.spec.group);
        workflow.map_or(goal, |workflow| workflow) == "undeploy"
    }

    /// Returns true if the target of a task exists, and an operation that applied a configuration is on record for it.
    pub(super) fn was_applied(&self, task: &Task) -> bool {
        let entity = self.topology.entity(task.spec.target);
        let exists = entity.local.is_some_and(Status::is_present);
        let has_main = |keys: &[String]| keys.iter().any(|key| key == "main");
        exists
            && ["create", "configure", "start"].iter().any(|operation| {
                let last = self.last_operation(task.spec.target, operation);
                last.is_some_and(|last| has_main(&last.digest_keys) || has_main(&last.exact_keys))
            })
    }
}

impl ToolProvider for TaskEnvironment<'_> {
    fn facts(&self) -> ToolFacts {
        let task = self.task;
        let instance = self.evaluation.directory_name(task.spec.target);
        let owner = DirectoryOwner {
            instance: Some(instance.as_str().into()),
            operation: Some(task.spec.reference.operation.shared()),
        };
        let local = &self.evaluation.context.local_context;
        let fallback = || {
            let planned = self.evaluation.options.base_dir.join("planned/tasks");
            planned.join(&instance)
        };
        let working = local.directory(&owner, "tasks");
        let key = self.evaluation.topology.unique_key(task.spec.target);
        let mut digest = canonical_sha256(&Value::from(key));
        digest.truncate(KEY_LENGTH);
        let prefix = self.cipher().folder_prefix();
        ToolFacts {
            working: working.unwrap_or_else(|_| fallback()),
            private: format!("{prefix}{digest}"),
            instance,
            writes_files: !task.spec.check_only && !self.evaluation.options.goal.drift,
        }
    }

    fn removes_target(&self) -> bool {
        self.evaluation.removes_target(self.task)
    }

    fn was_applied(&self) -> bool {
        self.evaluation.was_applied(self.task)
    }

    fn saved_plan(&self) -> Option<&SavedPlan> {
        self.evaluation.saved_plans?.get(&self.task.spec.target)
    }

    fn cipher(&self) -> &dyn StateCipher {
        &*self.evaluation.context.states
    }

    fn marked_properties(&self, key: &str) -> Result<Map, Error> {
        let target = self.task.spec.target;
        let entity = self.evaluation.topology.entity(target);
        let node = entity.node();
        let properties = node.into_iter().flat_map(|node| &*node.template.properties);
        let marked = properties.filter(|(_, property)| {
            let definition = property.definition.as_deref();
            definition.is_some_and(|definition| definition.flag(key))
        });
        let mut found = Map::new();
        for (name, _) in marked {
            let value = self.evaluator.attribute(target, name)?;
            found.insert(Arc::clone(name), value.unwrap_or_default());
        }
        Ok(found)
    }

    fn used_outputs(&self) -> Vec<String> {
        let entity = self.evaluation.topology.entity(self.task.spec.target);
        let node = entity.node();
        let attributes = node
            .into_iter()
            .flat_map(|node| node.template.attributes.keys());
        let set = attributes.filter(|name| self.evaluation.sets_attribute(self.task, name));
        let set = set.map(ToString::to_string);
        let operation = &self.task.spec.operation;
        let mapped = operation.outputs.keys().map(ToString::to_string);
        let mut names: Vec<String> = Vec::new();
        for name in set.chain(mapped) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}
