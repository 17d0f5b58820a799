//! `--upgrade`: which instances were made from other properties than those of the model now.

use super::evaluation::Evaluation;
use super::task::Task;
use crate::plan::ChangeDetection;
use crate::value::Value;

impl Evaluation<'_> {
    /// The first property of a task's target that is another now, in words.
    pub(super) fn outdated_property(&self, task: &Task) -> Option<String> {
        let target = task.spec.target;
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
    pub(super) fn may_reconfigure(&self, task: &Task) -> bool {
        let customized = &self.topology.entity(task.spec.target).customized;
        match self.options.goal.change_detection {
            ChangeDetection::Skip => false,
            ChangeDetection::Evaluate => customized.is_none(),
            ChangeDetection::Always => true,
        }
    }
}
