//! Evaluation of tasks and attributes in the current topology. [`Evaluation`] is a read-only view that
//! changes no state.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::history::OperationHistory;
use super::options::JobOptions;
use super::ports::{DigestKeyProvider, FolderKey, HostLocator};
use super::query_trace::{attribute_key, traced_query};
use super::task::Task;
use crate::expr::{Context, Error, Evaluator, Memo, SystemContext};
use crate::plan::{GroupId, Plan, StepId};
use crate::secret::DigestKey;
use crate::task::{ChooseError, Configurator, SavedPlan, StateCipher};
use crate::topology::{EntityKind, Topology};
use crate::tosca::Operation;
use crate::value::{Handle, Map, Value};

/// Selects the configurator of an operation and completes its inputs.
pub type ChooseConfigurator = fn(&Operation) -> Result<(Arc<dyn Configurator>, Map), ChooseError>;

/// The environment of evaluation outside the topology. It stays the same for the whole job.
pub(super) struct JobContext {
    pub(super) local_context: Arc<dyn SystemContext>,
    pub(super) memo: Arc<Memo>,
    pub(super) choose: ChooseConfigurator,
    pub(super) history: Box<dyn OperationHistory>,
    pub(super) keys: Box<dyn DigestKeyProvider>,
    pub(super) host_locator: Box<dyn HostLocator>,
    pub(super) states: Box<dyn StateCipher>,
    /// The key for digests of secrets that this job records.
    pub(super) digest_key: Option<Arc<DigestKey>>,
    /// Whether the record lacks the value of any attribute because it is secret.
    pub(super) has_redacted: bool,
}

/// A view of a job for evaluating expressions. It borrows the topology, which cannot change meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Evaluation<'t> {
    pub(super) topology: &'t Arc<Topology>,
    pub(super) plan: &'t Plan,
    pub(super) options: &'t JobOptions,
    pub(super) context: &'t JobContext,
    /// The plans that the last tasks of their targets have saved. None after the job.
    pub(super) saved_plans: Option<&'t HashMap<Handle, SavedPlan>>,
}

/// An evaluator for the current topology that borrows the topology for its lifetime.
pub(super) struct ScopedEvaluator<'t> {
    evaluator: Evaluator,
    topology: PhantomData<&'t Topology>,
}

impl ScopedEvaluator<'_> {
    fn new(evaluator: Evaluator) -> Self {
        Self {
            evaluator,
            topology: PhantomData,
        }
    }
}

impl Deref for ScopedEvaluator<'_> {
    type Target = Evaluator;

    fn deref(&self) -> &Evaluator {
        &self.evaluator
    }
}

impl Drop for ScopedEvaluator<'_> {
    // The explicit Drop extends the borrow of the topology to this point. Changing the topology while an
    // evaluator shares it would copy all of it.
    fn drop(&mut self) {}
}

impl<'t> Evaluation<'t> {
    fn new_evaluator(&self) -> Evaluator {
        let scope = Arc::clone(self.topology);
        let JobContext {
            local_context: world,
            memo,
            ..
        } = self.context;
        Evaluator::new(scope, Arc::clone(world), Arc::clone(memo))
    }

    /// Returns an evaluator for the topology.
    pub(super) fn evaluator(&self) -> ScopedEvaluator<'t> {
        ScopedEvaluator::new(self.new_evaluator())
    }

    /// Returns an evaluator for a task, in which the executed artifact sees the task's variables.
    pub(super) fn evaluator_for(&self, task: &Task) -> ScopedEvaluator<'t> {
        let plain = self.new_evaluator();
        match task.spec.artifact {
            Some(artifact) => {
                ScopedEvaluator::new(plain.for_task_artifact(artifact, &task.inputs.context))
            }
            None => ScopedEvaluator::new(plain),
        }
    }

    /// Returns the record key of an attribute, such as `::web::port`. None if it is not recorded.
    pub(super) fn attribute_key(&self, of: Handle, name: &str) -> Option<String> {
        attribute_key(self.topology, of, name)
    }

    /// Returns a key that finds an attribute from an entity. It is the record key, with the outer template before it
    /// if the attribute is in a nested topology that the entity does not see. None if the attribute is not recorded.
    pub(super) fn exact_key(&self, from: Handle, of: Handle, name: &str) -> Option<String> {
        let topology = self.topology;
        let key = self.attribute_key(of, name)?;
        let of = topology.stand_in(of).unwrap_or(of);
        let Some(node) = topology.instance_of(of) else {
            return Some(key);
        };
        let found = topology.find_from(from, topology.entity(node).local_name());
        let is_found = found.is_some_and(|found| {
            found == node || topology.stand_in(found).is_some_and(|inner| inner == node)
        });
        match topology.nested_at(topology.root_of(node)) {
            Some((outer, _)) if !is_found => {
                Some(format!("::{outer}:{}", key.trim_start_matches(':')))
            }
            _ => Some(key),
        }
    }

    /// Evaluates an output of the topology and returns the values read for it.
    pub(super) fn output(&self, name: &str) -> (Result<Value, Error>, crate::expr::Reads) {
        let evaluator = self.evaluator();
        let value = evaluator.attribute(self.topology.outputs(), name);
        let reads = evaluator.take_reads();
        let context = Context::new(self.topology.root());
        let unquote =
            |value: Option<Value>| evaluator.unquote(&value.unwrap_or_default(), &context);
        (value.and_then(unquote), reads)
    }

    /// Evaluates an expression and traces the attributes that it read.
    pub(super) fn query(
        &self,
        expression: &str,
        depth: u8,
    ) -> Result<(Value, Vec<(String, Value)>), Error> {
        traced_query(&self.evaluator(), self.topology, expression, depth)
    }

    /// Returns the evaluated inputs of the topology.
    pub(super) fn inputs(&self) -> Map {
        self.values_of(self.topology.inputs())
    }

    /// Returns the evaluated inputs and outputs of the nested topology with this root.
    pub(super) fn nested_values(&self, root: Handle) -> (Map, Map) {
        let inputs = self.values_of(self.topology.inputs_of(root));
        (inputs, self.values_of(self.topology.outputs_of(root)))
    }

    fn values_of(&self, handle: Handle) -> Map {
        let evaluator = self.evaluator();
        let names = self.topology.entity(handle).attributes.keys();
        let values = names.filter_map(|name| {
            let value = evaluator.attribute(handle, name).ok().flatten()?;
            Some((Arc::clone(name), value))
        });
        values.collect()
    }

    /// Returns a task's name for messages.
    pub(super) fn label(&self, task: &Task) -> String {
        let target = &self.topology.entity(task.spec.target).name;
        format!("{} of `{target}`", task.spec.reference)
    }

    /// Returns the key of a task's folders.
    pub(super) fn folder_key(&self, task: &Task) -> FolderKey {
        FolderKey {
            instance: self.directory_name(task.spec.target),
            operation: task.spec.reference.operation.to_string(),
        }
    }

    /// Returns the directory name of an entity. A relationship's is `<source>~r~<requirement>`.
    pub(super) fn directory_name(&self, target: Handle) -> String {
        let entity = self.topology.entity(target);
        let part = |of: Handle, letter: char| {
            let of = &self.topology.entity(of).name;
            format!("{of}~{letter}~{}", entity.name)
        };
        match &entity.kind {
            EntityKind::Relationship {
                source: Some(source),
                ..
            } => part(*source, 'r'),
            EntityKind::Capability { owner, .. } => part(*owner, 'c'),
            EntityKind::Artifact { owner, .. } => part(*owner, 'a'),
            _ => entity.name.to_string(),
        }
    }

    /// Returns the instance that a step belongs to. For relationships this is the group's target.
    pub(super) fn unit_instance(&self, step: StepId, target: Handle) -> Handle {
        let group = self.plan.steps[step].group;
        match group.map(|group| &self.plan.groups[group].target) {
            Some(crate::plan::StepTarget::Node(name)) => {
                self.topology.find(name.as_str()).unwrap_or(target)
            }
            _ => self.topology.source_of(target).unwrap_or(target),
        }
    }

    pub(super) fn workflow_of(&self, group: Option<GroupId>) -> Option<&'t Arc<str>> {
        group.map(|group| &self.plan.groups[group].workflow)
    }
}
