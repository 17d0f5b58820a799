//! Ad-hoc runs of one operation.

use super::error::Error;
use super::operation::find;
use super::order::template_order;
use super::planner::{Planner, Subject};
use super::step::{Reason, Target};

impl Planner<'_> {
    /// Adds the operation on each chosen instance that implements it.
    pub(super) fn run(&mut self) -> Result<(), Error> {
        let Some(wanted) = self.goal.operation.clone() else {
            return Ok(());
        };
        for subject in self.run_subjects()? {
            let operations = &subject.template.operations;
            let (interface, operation) = (wanted.interface.as_str(), wanted.operation.as_str());
            if let Some(operation) = find(operations, interface, operation) {
                let target = Target::Node(subject.name.clone());
                self.push_operation(target, operation, Reason::Run, None);
            }
        }
        Ok(())
    }

    fn run_subjects(&mut self) -> Result<Vec<Subject>, Error> {
        if self.goal.instances.is_empty() {
            let order = template_order(self.topology, self.goal);
            let instances = order
                .iter()
                .flat_map(|t| self.topology.instances_of(&t.name));
            return Ok(instances.map(|handle| self.subject(*handle)).collect());
        }
        let mut subjects = Vec::new();
        for name in &self.goal.instances {
            let subject = if let Some(handle) = self.topology.find(name.as_str()) {
                self.subject(handle)
            } else if let Some(template) = self.topology.template().nodes.get(name.as_str()) {
                let template = std::sync::Arc::clone(template);
                self.draft(&template)?
            } else {
                return Err(Error::UnknownInstance(name.clone()));
            };
            subjects.push(subject);
        }
        Ok(subjects)
    }
}
