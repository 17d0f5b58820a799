//! Mutual exclusion of steps on the same node when tasks run in parallel.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::plan::StepId;
use crate::value::Handle;

/// The nodes that are in use, and the steps waiting for them.
#[derive(Debug, Default)]
pub(crate) struct ExclusiveNodes {
    busy: HashSet<Handle>,
    /// The node that each task uses.
    task_nodes: HashMap<usize, Handle>,
    /// Steps that wait for a node, in order.
    waiting: HashMap<Handle, VecDeque<StepId>>,
    /// Steps whose node has become free.
    free: VecDeque<StepId>,
}

impl ExclusiveNodes {
    /// Takes the first step whose node has become free.
    pub(crate) fn pop(&mut self) -> Option<StepId> {
        self.free.pop_front()
    }

    /// Whether no step is ready because its node became free.
    pub(crate) fn is_empty(&self) -> bool {
        self.free.is_empty()
    }

    /// Queues a step if its node is in use, and returns whether it is.
    pub(crate) fn wait_if_busy(&mut self, key: Handle, step: StepId) -> bool {
        let busy = self.busy.contains(&key);
        if busy {
            self.waiting.entry(key).or_default().push_back(step);
        }
        busy
    }

    /// Assigns a node to a task.
    pub(crate) fn occupy(&mut self, key: Handle, task: usize) {
        self.busy.insert(key);
        self.task_nodes.insert(task, key);
    }

    /// Releases the node of a finished task and readies the steps that wait for it.
    pub(crate) fn free(&mut self, task: usize) {
        if let Some(key) = self.task_nodes.remove(&task) {
            self.busy.remove(&key);
            if let Some(waiting) = self.waiting.remove(&key) {
                self.free.extend(waiting);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_waits_until_the_task_on_its_node_has_ended() {
        let mut exclusive = ExclusiveNodes::default();
        let node = Handle(1);
        assert!(!exclusive.wait_if_busy(node, 0));
        exclusive.occupy(node, 7);
        assert!(exclusive.wait_if_busy(node, 1) && exclusive.wait_if_busy(node, 2));
        assert!(exclusive.pop().is_none());
        exclusive.free(7);
        assert_eq!((exclusive.pop(), exclusive.pop()), (Some(1), Some(2)));
        assert!(exclusive.is_empty() && !exclusive.wait_if_busy(node, 1));
    }

    #[test]
    fn steps_of_other_nodes_are_not_held() {
        let mut exclusive = ExclusiveNodes::default();
        exclusive.occupy(Handle(1), 7);
        assert!(!exclusive.wait_if_busy(Handle(2), 1));
    }

    #[test]
    fn the_end_of_a_task_without_a_node_frees_nothing() {
        let mut exclusive = ExclusiveNodes::default();
        exclusive.occupy(Handle(1), 7);
        assert!(exclusive.wait_if_busy(Handle(1), 1));
        exclusive.free(8);
        assert!(exclusive.is_empty());
    }
}
