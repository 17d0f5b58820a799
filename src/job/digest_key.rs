//! The key for the digests of secrets that a job records.

use super::engine::Engine;
use super::event::Level;
use super::task::{Task, TaskIndex};

impl Engine {
    /// As [`Self::get_digest_key`], for one task that has ended.
    pub fn get_digest_key_for(&mut self, index: TaskIndex) {
        let task = &self.ledger.tasks[index];
        if self.lacks_digest_key(std::iter::once(task)) {
            self.fetch_digest_key();
        }
    }

    /// Gets the key for digests of secrets, if a task of the job has read any. It must be called
    /// before records are made; without a key they say nothing of secrets.
    pub fn get_digest_key(&mut self) {
        if self.lacks_digest_key(self.ledger.listed()) {
            self.fetch_digest_key();
        }
    }

    /// Whether there is no key yet, and one of these tasks has read secrets.
    fn lacks_digest_key<'t>(&self, mut tasks: impl Iterator<Item = &'t Task>) -> bool {
        let evaluation = self.evaluation();
        self.surroundings.digest_key.is_none() && tasks.any(|it| evaluation.has_read_secrets(it))
    }

    fn fetch_digest_key(&mut self) {
        let may_make = !self.options.goal.dry_run;
        match self.surroundings.keys.for_records(may_make) {
            Ok(key) => self.surroundings.digest_key = key,
            Err(problem) => {
                let text = format!(
                    "no digests of secrets are recorded, so that a changed one will not be \
                     noticed: {problem}"
                );
                self.say(Level::Warning, text);
            }
        }
    }
}
