//! Missing secrets: values that tasks set in earlier jobs and that records therefore do not contain.

use std::sync::Arc;

use super::evaluation::Evaluation;
use super::task::Task;
use crate::expr::Reads;
use crate::value::Handle;

impl Evaluation<'_> {
    /// Returns an attribute with a missing secret value among those that a task read, directly or through
    /// others.
    pub(super) fn missing_secret_read(
        &self,
        task: &Task,
        reads: &Reads,
    ) -> Option<(Handle, Arc<str>)> {
        let is_missing = |of: Handle, name: &Arc<str>| {
            let of = self.topology.stand_in(of).unwrap_or(of);
            let entity = self.topology.entity(of);
            entity.redacted.contains(name) && !entity.attributes.contains_key(name)
        };
        if !self.context.has_redacted {
            return None;
        }
        let present = self.evaluator_for(task).closure(reads, usize::MAX);
        let present = present.into_iter().map(|(of, name, _)| (of, name));
        let absent = self.context.memo.absent(reads, usize::MAX);
        let mut all = absent.into_iter().chain(present);
        all.find(|(of, name)| is_missing(*of, name))
    }

    /// Returns the message for a task that cannot run because it reads a missing secret, with advice.
    pub(super) fn describe_missing_secret(&self, of: Handle, name: &str) -> String {
        let instance = &self.topology.entity(of).name;
        format!(
            "it reads the secret `{name}` of `{instance}`, which an earlier job set and which is \
             not stored in the record; a job with `--force --instance {instance}` that includes \
             this instance, too, sets it again"
        )
    }
}
