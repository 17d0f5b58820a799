//! Keeps values of `locals` out of records: those that expressions read, and those that were computed from them.

use std::sync::Arc;

use super::digest::DigestEntries;
use super::evaluation::Evaluation;
use super::task::Task;
use crate::expr::{Read, Reads};
use crate::value::{Handle, Map, Value};

impl Evaluation<'_> {
    /// Returns true if any of the reads, direct or indirect, is one of `locals`.
    fn reads_local(&self, reads: &Reads) -> bool {
        let memo = &self.context.memo;
        let is_local = &mut |read: &Read| matches!(read, Read::Local(_));
        memo.has_local_reads() && memo.any_read(reads, usize::MAX, is_local)
    }

    /// Marks the value of an attribute that was computed from `locals`.
    pub(super) fn mark_local(&self, of: Handle, name: &Arc<str>, value: Value) -> Value {
        if !self.context.memo.has_local_reads() {
            return value;
        }
        let mut reads = Reads::default();
        let name = Arc::clone(name);
        reads.add(Read::Attribute { of, name }, None);
        value.local_if(self.reads_local(&reads))
    }

    /// Marks the values of an entity, such as the outputs, that were computed from `locals`.
    pub(super) fn mark_locals(&self, of: Handle, values: Map) -> Map {
        if !self.context.memo.has_local_reads() {
            return values;
        }
        let values = values.into_iter();
        values
            .map(|(name, value)| {
                let value = self.mark_local(of, &name, value);
                (name, value)
            })
            .collect()
    }

    /// Marks the value of a task's input that was computed from `locals`.
    pub(super) fn mark_local_input(&self, task: &Task, name: &str, value: Value) -> Value {
        if !self.context.memo.has_local_reads() {
            return value;
        }
        let evaluator = self.evaluator_for(task);
        let evaluated = evaluator.input(name, &task.inputs.context);
        let is_local = evaluated.is_ok() && self.reads_local(&evaluator.take_reads());
        value.local_if(is_local)
    }

    /// Evaluates the values of record keys, and marks those that were computed from `locals`.
    pub(super) fn entries_with_locals(&self, task: &Task, keys: &[String]) -> DigestEntries {
        let evaluator = self.evaluator_for(task);
        let entries = keys.iter().filter_map(|key| {
            let value = self.current_value(task, key, &evaluator).ok()?;
            let is_local = self.reads_local(&evaluator.take_reads());
            Some((key.clone(), value.local_if(is_local)))
        });
        entries.collect()
    }
}
