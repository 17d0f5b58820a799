//! Hides the secrets that a task has read in the messages of its outcome (S4).

use std::sync::Arc;

use super::engine::Engine;
use super::task::TaskIndex;
use crate::task::TaskOutcome;
use crate::value::{Map, Secrets, Value};

/// The maximum number of secrets of finished tasks that are searched for in the output of each later task.
const MAX_JOB_SECRETS: usize = 4096;

impl Engine {
    /// Adds the secrets that a task has read to those of the job, and returns the latter.
    ///
    /// A task can print what another one wrote into a file.
    pub(super) fn secrets_of_job(&mut self, index: TaskIndex) -> &Secrets {
        if self.secrets.len() < MAX_JOB_SECRETS {
            let of_task = self.secrets_of(index);
            if !of_task.is_empty() {
                self.secrets.append(&of_task);
            }
        }
        &self.secrets
    }

    /// Returns the secrets among the values that a task has read.
    pub(super) fn secrets_of(&self, index: TaskIndex) -> Secrets {
        let reads = &self.ledger.tasks[index].reads;
        let mut secrets = Secrets::default();
        for value in reads.resolved.values().chain(reads.exact.values()) {
            secrets.gather(value);
        }
        secrets
    }

    /// Hides the secrets of a task in its messages: those of the outcome, and its result.
    pub(super) fn hide_secrets(&mut self, index: TaskIndex, outcome: &mut TaskOutcome) {
        let secrets = self.secrets_of_job(index).clone();
        if secrets.is_empty() {
            return;
        }
        for text in outcome.errors.iter_mut().chain(&mut outcome.notes) {
            *text = secrets.redact(text);
        }
        outcome.result = outcome.result.take().map(|result| {
            let marks = result.own_marks();
            let hidden = match result.reveal() {
                Value::Str(text) => Value::from(secrets.redact(text)),
                Value::Map(fields) => {
                    secrets.mark(Value::from(with_error_hidden(fields, &secrets)))
                }
                _ => return secrets.mark(result),
            };
            hidden.marked(marks)
        });
    }
}

/// Hides secrets in the error of a result.
fn with_error_hidden(fields: &Map, secrets: &Secrets) -> Map {
    let hide = |(name, value): (&Arc<str>, &Value)| {
        let marks = value.own_marks();
        let hidden = match value.reveal() {
            Value::Str(text) if &**name == "error" => Value::from(secrets.redact(text)),
            _ => return (Arc::clone(name), value.clone()),
        };
        (Arc::clone(name), hidden.marked(marks))
    };
    fields.iter().map(hide).collect()
}

/// Refuses the name of an attribute or instance that contains a secret. Records and messages show names.
pub(super) fn refuse_secret_name(
    subject: &str,
    name: &str,
    secrets: &Secrets,
) -> Result<(), String> {
    if !secrets.occur_in(name) {
        return Ok(());
    }
    Err(format!(
        "the name of {subject} in `resultTemplate` contains a secret, but names are recorded and shown; use the \
         secret as a value"
    ))
}
