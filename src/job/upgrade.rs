//! `--upgrade`: which instances were made from other properties than those of the model now.

use super::engine::Engine;
use super::task::TaskIndex;
use crate::plan::{ChangeDetection, Reason};
use crate::value::Value;

impl Engine {
    /// Finds the tasks whose target has recorded properties that are others now. It comes before
    /// anything else is evaluated: what is read is recorded.
    pub(super) fn compare_upgrades(&mut self) {
        let upgrades = self.tasks.iter().enumerate();
        let upgrades = upgrades.filter(|(_, task)| task.reason == Reason::Upgrade);
        let outdated: Vec<(TaskIndex, String)> = upgrades
            .filter_map(|(index, _)| Some((index, self.outdated_property(index)?)))
            .collect();
        self.outdated.extend(outdated);
    }

    /// The first property of a task's target that is another now, in words.
    fn outdated_property(&self, index: TaskIndex) -> Option<String> {
        let target = self.tasks[index].target;
        let evaluator = self.evaluator();
        let recorded = self.topology.entity(target).properties.iter();
        let mut changed = recorded.filter_map(|(name, recorded)| {
            // One that cannot be evaluated is told when the task is rendered.
            let now = evaluator.attribute(target, name).ok()?;
            let now = now.map_or(Value::Null, |now| now.settled());
            (now != *recorded).then(|| {
                let (recorded, now) = (recorded.redacted(), now.redacted());
                format!("its property `{name}` was {recorded} and is {now} now")
            })
        });
        changed.next()
    }

    /// Whether a task may run because of other changes, as it may without `--upgrade`.
    pub(super) fn may_reconfigure(&self, index: TaskIndex) -> bool {
        let customized = &self.topology.entity(self.tasks[index].target).customized;
        match self.options.goal.change_detection {
            ChangeDetection::Skip => false,
            ChangeDetection::Evaluate => customized.is_none(),
            ChangeDetection::Always => true,
        }
    }
}
