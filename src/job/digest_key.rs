//! The key for the digests of secrets that a job records.

use super::engine::Engine;
use super::task::{Task, TaskIndex};

impl Engine {
    /// As [`Self::get_digest_key`], for one task that has ended.
    pub(super) fn get_digest_key_for(&mut self, index: TaskIndex) -> Option<String> {
        let task = &self.ledger.tasks[index];
        let lacks = self.lacks_digest_key(std::iter::once(task));
        lacks.then(|| self.fetch_digest_key()).flatten()
    }

    /// Gets the key for digests of secrets, if a listed task has read any; without a key digests say
    /// nothing of secrets. Returns a warning if there is none although there should be one.
    pub(super) fn get_digest_key(&mut self) -> Option<String> {
        let lacks = self.lacks_digest_key(self.ledger.listed());
        lacks.then(|| self.fetch_digest_key()).flatten()
    }

    /// Whether there is no key yet, and one of these tasks has read secrets.
    fn lacks_digest_key<'t>(&self, mut tasks: impl Iterator<Item = &'t Task>) -> bool {
        let evaluation = self.evaluation();
        self.surroundings.digest_key.is_none() && tasks.any(|it| evaluation.has_read_secrets(it))
    }

    fn fetch_digest_key(&mut self) -> Option<String> {
        let may_make = !self.options.goal.dry_run;
        match self.surroundings.keys.for_records(may_make) {
            Ok(key) => {
                self.surroundings.digest_key = key;
                None
            }
            Err(problem) => Some(format!(
                "no digests of secrets are recorded, so that a changed one will not be noticed: \
                 {problem}; {}",
                problem.help()
            )),
        }
    }
}
