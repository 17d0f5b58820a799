//! Wait sets: the steps that a step must wait for because they may still set attributes it reads.

use std::sync::Arc;

use crate::plan::StepId;
use crate::value::{Handle, Value};

/// A live attribute that a deferred step read, with its value at that time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AwaitedAttribute {
    pub(crate) of: Handle,
    pub(crate) name: Arc<str>,
    pub(crate) value: Value,
}

/// Steps that may still set attributes which a task has read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct WaitSet {
    /// Open steps of the other instances read from.
    steps: Vec<StepId>,
    /// Open steps of the task's own target.
    own: Vec<StepId>,
    awaited: Vec<AwaitedAttribute>,
    /// Whether at least one of the attributes is sure to be set.
    is_certain: bool,
}

/// The kind of wait that a wait set implies for a step.
#[derive(Debug, PartialEq)]
pub(crate) enum WaitKind {
    /// The step reads attributes that other steps have yet to set.
    Deferred(Vec<StepId>, Vec<AwaitedAttribute>),
    /// The step reads attributes of preceding steps, which have ended when it is due.
    UntilDue(Vec<StepId>),
}

impl WaitSet {
    /// Adds open steps of the step's own target.
    pub(crate) fn add_own(&mut self, steps: impl IntoIterator<Item = StepId>) {
        self.own.extend(steps);
    }

    /// Adds the open steps of another instance with the attribute that was read.
    ///
    /// The attribute is certain to be set if it is declared or has a value.
    pub(crate) fn add_other(
        &mut self,
        read: AwaitedAttribute,
        steps: Vec<StepId>,
        is_certain: bool,
    ) {
        self.is_certain |= is_certain;
        self.steps.extend(steps);
        self.awaited.push(read);
    }

    /// Returns the steps of other instances, without duplicates.
    pub(crate) fn on_others(mut self) -> Vec<StepId> {
        self.steps.sort_unstable();
        self.steps.dedup();
        self.steps
    }

    /// Returns the kind of wait for a step. None if it need not wait.
    pub(crate) fn for_step(mut self, step: StepId) -> Option<WaitKind> {
        self.steps.append(&mut self.own);
        self.steps.sort_unstable();
        self.steps.dedup();
        if self.steps.is_empty() {
            return None;
        }
        let all_before = self.steps.iter().all(|on| *on < step);
        Some(if all_before && !self.is_certain {
            WaitKind::UntilDue(self.steps)
        } else {
            WaitKind::Deferred(self.steps, self.awaited)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(of: u32) -> AwaitedAttribute {
        let (name, value) = (Arc::from("port"), Value::Null);
        let of = Handle(of);
        AwaitedAttribute { of, name, value }
    }

    #[test]
    fn a_step_that_nobody_sets_anything_for_goes_on() {
        assert_eq!(WaitSet::default().for_step(3), None);
    }

    #[test]
    fn an_attribute_that_may_be_set_by_steps_before_is_read_again_in_place() {
        let mut waits = WaitSet::default();
        waits.add_other(read(1), vec![2, 1, 2], false);
        assert_eq!(waits.for_step(3), Some(WaitKind::UntilDue(vec![1, 2])));
    }

    #[test]
    fn a_declared_attribute_defers_its_reader() {
        let mut waits = WaitSet::default();
        waits.add_other(read(1), vec![1], true);
        waits.add_own([0]);
        let expected = WaitKind::Deferred(vec![0, 1], vec![read(1)]);
        assert_eq!(waits.for_step(3), Some(expected));
    }

    #[test]
    fn a_step_after_the_reader_defers_it() {
        let mut waits = WaitSet::default();
        waits.add_other(read(1), vec![5], false);
        let expected = WaitKind::Deferred(vec![5], vec![read(1)]);
        assert_eq!(waits.for_step(3), Some(expected));
    }

    #[test]
    fn steps_of_the_own_target_are_none_of_others() {
        let mut waits = WaitSet::default();
        waits.add_own([1]);
        waits.add_other(read(1), vec![4, 2, 4], true);
        assert_eq!(waits.on_others(), [2, 4]);
    }
}
