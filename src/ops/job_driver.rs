//! Joins a job to this machine: its driver, its keys, and the output of its commands.

use std::io::Write as _;
use std::sync::Arc;

use super::request::JobRequest;
use crate::ensemble::LockedEnsemble;
use crate::exec::{
    ActionRunner, Driver, GuardOptions, OnInterrupt, OutputMode, OutputSink, RunLimits,
};
use crate::host::Stream;
use crate::secret::{self, DigestKey, Keyring};
use crate::session::Session;

/// The driver of a job: of this machine unless `performer` performs its effects. The token tells
/// the processes of the job from all others: that of the lock if the job is journalled, so that
/// the next job can end what a crash left. Of a job that is not, nobody would know which of its
/// daemons may live.
pub(super) fn create_driver(
    request: &JobRequest,
    locked: &LockedEnsemble,
    performer: Option<Box<dyn ActionRunner>>,
) -> Driver {
    let interrupts = request.interrupts.clone();
    let grace = OnInterrupt::Grace(request.run.grace);
    if let Some(performer) = performer {
        return Driver::new(interrupts, grace, || Ok(performer));
    }
    let token = if request.save.record && !request.goal.dry_run {
        locked.token().to_owned()
    } else {
        ulid::Ulid::generate().to_string()
    };
    let limits = RunLimits {
        max_running: request.run.parallel.max(1),
        guard: Some(GuardOptions::by_this_program(&token)),
        ..RunLimits::default()
    };
    let output = OutputMode::Sink(Box::new(CommandEcho));
    Driver::local(interrupts, grace, limits, output)
}

/// The keys of the ensemble for digests of secrets, as a job sees them.
#[derive(Debug)]
pub(super) struct DigestKeys(Keyring);

impl DigestKeys {
    pub(super) fn of(session: &Session) -> Self {
        Self(Keyring::new(
            session.location.env.all(),
            session.manifest.base_dir(),
        ))
    }
}

impl crate::job::DigestKeyProvider for DigestKeys {
    fn recording_key(&self, make: bool) -> Result<Option<Arc<DigestKey>>, secret::Error> {
        if make {
            self.0.current_or_new().map(Some)
        } else {
            self.0.current()
        }
    }

    fn key_by_id(&self, id: &str) -> Result<Option<Arc<DigestKey>>, secret::Error> {
        self.0.find(id)
    }
}

/// Shows the output of commands while they run: on the error output, so that what this program
/// answers stays alone on the standard output.
#[derive(Debug)]
struct CommandEcho;

impl OutputSink for CommandEcho {
    fn output(&mut self, _id: u64, _stream: Stream, bytes: &[u8]) {
        let shown = anstream::adapter::strip_bytes(bytes).into_vec();
        std::io::stderr().write_all(&shown).ok();
    }
}
