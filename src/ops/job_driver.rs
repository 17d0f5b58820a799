//! Connects a job to this computer: its driver and its digest keys.

use std::sync::Arc;

use super::request::JobRequest;
use crate::ensemble::LockedEnsemble;
use crate::exec::{ActionRunner, Driver, GuardOptions, OnInterrupt, OutputMode, RunLimits};
use crate::secret::{self, DigestKey, KeyName, Keyring};

/// Creates the driver of a job. It runs actions on this computer unless `performer` is given.
///
/// The driver's token marks the processes of the job. With a journal it is the lock's token, so that the next
/// job can end the survivors of a crash. Without a journal a new token is used: nothing would tell which
/// daemons may stay, so none may be ended.
pub(super) fn create_driver(
    request: &JobRequest,
    locked: Option<&LockedEnsemble>,
    performer: Option<Box<dyn ActionRunner>>,
) -> Driver {
    let interrupts = request.interrupts.clone();
    let grace = OnInterrupt::Grace(request.run.grace);
    if let Some(performer) = performer {
        return Driver::new(interrupts, grace, || Ok(performer));
    }
    let is_journaled = request.save.record && !request.goal.dry_run;
    let token = match locked.filter(|_| is_journaled) {
        Some(locked) => locked.token().to_owned(),
        None => ulid::Ulid::generate().to_string(),
    };
    let limits = RunLimits {
        max_running: request.run.parallel.max(1),
        guard: Some(GuardOptions::by_this_program(&token)),
        ..RunLimits::default()
    };
    Driver::local(interrupts, grace, limits, OutputMode::Events)
}

/// Gives a job access to the ensemble's keys for digests of secrets.
#[derive(Debug)]
pub(super) struct DigestKeys(pub(super) Arc<Keyring>);

impl crate::job::DigestKeyProvider for DigestKeys {
    fn recording_key(&self, make: bool) -> Result<Option<Arc<DigestKey>>, secret::Error> {
        if make {
            self.0.current_or_new().map(Some)
        } else {
            self.0.current()
        }
    }

    fn key_by_name(&self, name: &KeyName) -> Result<Option<Arc<DigestKey>>, secret::Error> {
        self.0.find(name)
    }
}
