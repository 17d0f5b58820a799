//! The files that configurators find through the inputs of their tasks.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::engine::Engine;
use super::task::Task;

impl Engine {
    /// Returns the files that configurators find through the inputs of their tasks, such as those of playbooks.
    pub fn files_of_configurators(&self) -> BTreeSet<PathBuf> {
        let context = &*self.context.local_context;
        let base_dir = &self.options.base_dir;
        let of_task = |task: &Task| {
            let inputs = task.reads.resolved.iter();
            let configurator = Arc::clone(&task.spec.configurator);
            inputs
                .flat_map(|(name, value)| {
                    configurator.files_of_input(name, value, context, base_dir)
                })
                .collect::<Vec<_>>()
        };
        self.ledger.tasks.iter().flat_map(of_task).collect()
    }
}
