//! Connects a job to this computer: its driver, its digest keys and the output of its commands.

use std::collections::HashMap;
use std::sync::Arc;

use super::request::JobRequest;
use crate::ensemble::LockedEnsemble;
use crate::exec::{
    ActionRunner, Driver, GuardOptions, OnInterrupt, OutputMode, OutputSink, RunLimits,
};
use crate::host::Stream;
use crate::secret::{self, DigestKey, KeyName, Keyring};
use crate::system::console::{self, StandardStream};
use crate::text::{Delivery, OutputFilter};

/// Creates the driver of a job. It runs actions on this computer unless `performer` is given.
///
/// The driver's token marks the processes of the job. With a journal it is the lock's token, so that the next
/// job can end the survivors of a crash. Without a journal a new token is used: nothing would tell which
/// daemons may stay, so none may be ended.
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
    let output = OutputMode::Sink(Box::new(CommandEcho::default()));
    Driver::local(interrupts, grace, limits, output)
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

/// Shows the output of commands while they run. It goes to standard error, because standard output is
/// reserved for the program's own result. Lines are shown when they are complete.
#[derive(Debug, Default)]
struct CommandEcho {
    /// The filter of each output, by action.
    filters: HashMap<(u64, Stream), OutputFilter>,
}

impl OutputSink for CommandEcho {
    fn output(&mut self, id: u64, stream: Stream, bytes: &[u8]) {
        let filter = self.filters.entry((id, stream)).or_insert_with(|| {
            OutputFilter::new(StandardStream::Stderr.has_colours(), Delivery::Lines)
        });
        let shown = filter.push(bytes);
        console::write_styled(StandardStream::Stderr, &shown).ok();
    }

    fn output_ended(&mut self, id: u64) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let filter = self.filters.remove(&(id, stream));
            let mut rest = filter.map_or_else(String::new, |mut filter| filter.finish());
            if !rest.is_empty() {
                // Messages of this program begin on a line of their own.
                rest.push('\n');
                console::write_styled(StandardStream::Stderr, &rest).ok();
            }
        }
    }
}
