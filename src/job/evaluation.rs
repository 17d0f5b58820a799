//! Evaluates what tasks and the topology say, in the topology as it is now. Nothing is changed.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::history::OperationHistory;
use super::options::JobOptions;
use super::ports::{DigestKeyProvider, FolderKey, HostLocator};
use super::task::Task;
use crate::expr::{Context, Error, Evaluator, Memo, Read, SystemContext};
use crate::plan::{GroupId, Plan, StepId};
use crate::secret::DigestKey;
use crate::task::{ChooseError, Configurator};
use crate::topology::{EntityKind, Topology};
use crate::tosca::Operation;
use crate::value::{Handle, Map, Value};

/// The most values that a trace of a query lists.
const MAX_TRACED_VALUES: usize = 1000;

/// Finds the configurator of an operation and completes its inputs.
pub type ChooseConfigurator = fn(&Operation) -> Result<(Arc<dyn Configurator>, Map), ChooseError>;

/// The things outside of the topology that evaluation asks; they are the same for the whole job.
pub(super) struct JobContext {
    pub(super) local_context: Arc<dyn SystemContext>,
    pub(super) memo: Arc<Memo>,
    pub(super) choose: ChooseConfigurator,
    pub(super) history: Box<dyn OperationHistory>,
    pub(super) keys: Box<dyn DigestKeyProvider>,
    pub(super) host_locator: Box<dyn HostLocator>,
    /// The key for the digests of secrets that this job records.
    pub(super) digest_key: Option<Arc<DigestKey>>,
    /// Whether any attribute is a secret that the record does not hold.
    pub(super) has_redacted: bool,
}

/// A view of a job in which expressions are evaluated. The topology cannot change while it lives.
#[derive(Clone, Copy)]
pub(super) struct Evaluation<'t> {
    pub(super) topology: &'t Arc<Topology>,
    pub(super) plan: &'t Plan,
    pub(super) options: &'t JobOptions,
    pub(super) context: &'t JobContext,
}

/// An evaluator over the topology as it is now.
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
    // Makes the borrow of the topology last until here: a change of the topology while an evaluator
    // shares it would copy the whole topology.
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

    /// An evaluator for the topology.
    pub(super) fn evaluator(&self) -> ScopedEvaluator<'t> {
        ScopedEvaluator::new(self.new_evaluator())
    }

    /// An evaluator for a task: the artifact that it executes sees the task's variables.
    pub(super) fn evaluator_for(&self, task: &Task) -> ScopedEvaluator<'t> {
        let plain = self.new_evaluator();
        match task.spec.artifact {
            Some(artifact) => {
                ScopedEvaluator::new(plain.for_task_artifact(artifact, &task.inputs.context))
            }
            None => ScopedEvaluator::new(plain),
        }
    }

    /// The key of an attribute in records, such as `::web::port`; none for what is not recorded.
    pub(super) fn attribute_key(&self, of: Handle, name: &str) -> Option<String> {
        let of = self.topology.stand_in(of).unwrap_or(of);
        let entity = self.topology.get(of)?;
        match entity.kind {
            EntityKind::Outputs => None,
            _ => Some(format!("{}::{name}", entity.key)),
        }
    }

    /// The value of an output of the topology, with what it has read.
    pub(super) fn output(&self, name: &str) -> (Result<Value, Error>, crate::expr::Reads) {
        let evaluator = self.evaluator();
        let value = evaluator.attribute(self.topology.outputs(), name);
        let reads = evaluator.take_reads();
        let context = Context::new(self.topology.root());
        let unquote =
            |value: Option<Value>| evaluator.unquote(&value.unwrap_or_default(), &context);
        (value.and_then(unquote), reads)
    }

    /// What an expression gives in the topology as it is now, and the attributes that it read with
    /// their values: none if `depth` is 0, those that it names if 1, those that they are computed
    /// from as well if more.
    pub(super) fn query(
        &self,
        expression: &str,
        depth: u8,
    ) -> Result<(Value, Vec<(String, Value)>), Error> {
        let evaluator = self.evaluator();
        let context = Context::new(self.topology.root());
        let mut results = evaluator.query(&Value::from(expression), &context)?;
        let reads = evaluator.take_reads();
        let found = match results.len() {
            0 => Value::Null,
            1 => results.remove(0),
            _ => Value::from(results),
        };
        let named = |of, name: &str| self.attribute_key(of, name);
        let mut traced: Vec<(String, Value)> = match depth {
            0 => Vec::new(),
            1 => {
                let direct = reads.iter().filter_map(|(read, value)| match read {
                    Read::Attribute { of, name } => Some((named(*of, name)?, value.clone())),
                    _ => None,
                });
                direct.collect()
            }
            _ => {
                let all = evaluator.closure(&reads, MAX_TRACED_VALUES).into_iter();
                all.filter_map(|(of, name, value)| Some((named(of, &name)?, value)))
                    .collect()
            }
        };
        for (_, value) in &mut traced {
            *value = value.redacted();
        }
        Ok((found, traced))
    }

    /// The inputs of the topology, evaluated.
    pub(super) fn inputs(&self) -> Map {
        self.values_of(self.topology.inputs())
    }

    /// The inputs and outputs of the nested topology with this root, evaluated.
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

    /// A task in words, for messages.
    pub(super) fn label(&self, task: &Task) -> String {
        let target = &self.topology.entity(task.spec.target).name;
        format!("{} of `{target}`", task.spec.reference)
    }

    /// Names the folders of a task.
    pub(super) fn folder_key(&self, task: &Task) -> FolderKey {
        FolderKey {
            instance: self.directory_name(task.spec.target),
            operation: task.spec.reference.operation.to_string(),
        }
    }

    /// The name of an entity's directories: a relationship's is `<source>~r~<requirement>`.
    pub(super) fn directory_name(&self, target: Handle) -> String {
        let entity = self.topology.entity(target);
        let part = |of: Handle, letter: char| {
            let of = &self.topology.entity(of).name;
            format!("{of}~{letter}~{}", entity.name)
        };
        match &entity.kind {
            EntityKind::Relationship { source, .. } => part(*source, 'r'),
            EntityKind::Capability { owner, .. } => part(*owner, 'c'),
            EntityKind::Artifact { owner, .. } => part(*owner, 'a'),
            _ => entity.name.to_string(),
        }
    }

    /// The instance a step belongs to: for relationships the group's target.
    pub(super) fn unit_instance(&self, step: StepId, target: Handle) -> Handle {
        let group = self.plan.steps[step].group;
        match group.map(|group| &self.plan.groups[group].target) {
            Some(crate::plan::StepTarget::Node(name)) => {
                self.topology.find(name.as_str()).unwrap_or(target)
            }
            _ => self.topology.source_of(target).unwrap_or(target),
        }
    }

    /// The workflow of a group.
    pub(super) fn workflow_of(&self, group: Option<GroupId>) -> Option<&'t Arc<str>> {
        group.map(|group| &self.plan.groups[group].workflow)
    }
}
