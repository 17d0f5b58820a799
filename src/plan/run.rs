//! Ad-hoc runs (`unfurl run`): plans a single command, or one operation on each selected instance.

use std::collections::HashSet;
use std::sync::Arc;

use super::error::Error;
use super::operation::{command_operation, find_operation};
use super::order::template_order;
use super::planner::{PlannedInstance, Planner};
use super::step::{Reason, StepTarget};
use crate::name::{InstanceName, OperationRef};
use crate::tosca::{Operation, Operations};

/// The name by which users refer to the topology itself.
const ROOT: &str = "root";

impl Planner<'_> {
    /// Adds the steps of an ad-hoc run.
    ///
    /// A command runs on each selected instance, or on the root if none is selected. An operation runs on
    /// each selected instance that implements it.
    pub(super) fn run(&mut self) -> Result<(), Error> {
        match self.goal.ad_hoc.operation.clone() {
            Some(requested) => self.run_operation(&requested),
            None => self.run_command(),
        }
    }

    fn run_command(&mut self) -> Result<(), Error> {
        let operation = command_operation(&self.goal.ad_hoc);
        let names = if self.goal.instances.is_empty() {
            vec![ROOT.into()]
        } else {
            let chosen = self.selected_instances()?.into_iter();
            chosen.map(|(name, _)| name).collect()
        };
        for name in names {
            let target = StepTarget::Node(name);
            self.push_operation(target, Arc::clone(&operation), Reason::Run, None);
        }
        Ok(())
    }

    fn run_operation(&mut self, requested: &OperationRef) -> Result<(), Error> {
        let subjects: Vec<PlannedInstance> = if self.goal.instances.is_empty() {
            let order = template_order(self.topology, self.goal);
            let instances = order
                .iter()
                .flat_map(|t| self.topology.instances_of(&t.name));
            let all = instances.map(|handle| self.subject(*handle));
            all.filter(|subject| self.admits(subject)).collect()
        } else {
            let chosen = self.selected_instances()?.into_iter();
            chosen.filter_map(|(_, subject)| subject).collect()
        };
        for subject in subjects {
            if let Some(operation) =
                find_requested(&subject.template.operations, requested, self.goal.dry_run)?
            {
                let target = StepTarget::Node(subject.name.clone());
                self.push_operation(target, operation, Reason::Run, None);
            }
        }
        Ok(())
    }

    /// Returns the instances that the user named, without duplicates.
    ///
    /// A missing instance is drafted from the template of the same name. The root has no subject.
    fn selected_instances(
        &mut self,
    ) -> Result<Vec<(InstanceName, Option<PlannedInstance>)>, Error> {
        let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
        for name in &self.goal.instances {
            if !seen.insert(name) || self.goal.excludes(name.as_str()) {
                continue;
            }
            let subject = if let Some(handle) = self.topology.find(name.as_str()) {
                Some(self.subject(handle))
            } else if let Some(template) = self.topology.template().nodes.get(name.as_str()) {
                let template = Arc::clone(template);
                Some(self.draft(&template)?)
            } else if name == ROOT {
                None
            } else if self.goal.ad_hoc.host.as_ref() == Some(name) {
                return Err(Error::UnknownHost(name.clone()));
            } else {
                return Err(Error::UnknownInstance(name.clone()));
            };
            chosen.push((name.clone(), subject));
        }
        Ok(chosen)
    }
}

/// Finds the requested operation if it is implemented.
///
/// # Errors
///
/// The interface is left out and several interfaces have an operation of this name.
fn find_requested(
    operations: &Operations,
    requested: &OperationRef,
    dry_run: bool,
) -> Result<Option<Arc<Operation>>, Error> {
    let find = |interface: &str, name: &str| find_operation(operations, interface, name, dry_run);
    let name = requested.operation.as_str();
    if !requested.interface.as_str().is_empty() {
        return Ok(find(requested.interface.as_str(), name));
    }
    let interfaces = operations.interfaces().map(|it| it.name.as_str());
    let mut found = interfaces.filter_map(|interface| find(interface, name));
    let first = found.next();
    match (&first, found.next()) {
        (Some(first), Some(second)) => Err(Error::AmbiguousOperation {
            first: first.reference.clone(),
            second: second.reference.clone(),
        }),
        _ => Ok(first),
    }
}
