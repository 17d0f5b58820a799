//! Restarts a host and waits until it is there again (spec/hosts.md F64).

use std::sync::Arc;
use std::sync::mpsc as results;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, sleep_until};

use super::ends::Ends;
use super::heard::Heard;
use super::work::Hands;
use crate::host::{Action, ActionResult, Command, Exit, Place, Program, Request, RunOutput};

/// Prints what is another text after each start of a host.
const BOOT_ID: &str = "cat /proc/sys/kernel/random/boot_id";
/// How often it is looked whether the host is there again.
const LOOK: Duration = Duration::from_secs(2);
/// How long a look may take: the host may be gone without a word.
const LOOKING: Duration = Duration::from_secs(10);
/// How long the command may take that restarts the host; afterwards it may still do so.
const ORDERING: Duration = Duration::from_secs(30);

/// A command that restarts its host.
pub(super) struct Restart {
    pub(super) id: u64,
    pub(super) request: Request,
    /// How long it may take after the command.
    pub(super) wait: Duration,
    pub(super) hands: Hands,
    pub(super) results: results::Sender<Heard>,
    pub(super) turns: Arc<Semaphore>,
}

impl Restart {
    /// Performs it. It succeeds once the host has started anew.
    pub(super) async fn perform(mut self, mut ends: Ends) -> ActionResult {
        let start = Instant::now();
        let output = |exit| {
            let output = RunOutput::not_run(exit);
            let elapsed = start.elapsed();
            ActionResult::Run(RunOutput { elapsed, ..output })
        };
        let (Place::Ssh(_), Action::Run(command)) = (&self.request.place, &mut self.request.action)
        else {
            let why = "only hosts that SSH leads to are restarted".to_owned();
            return output(Exit::Failed(why));
        };
        let limit = command.time_limit.unwrap_or(ORDERING);
        command.time_limit = Some(limit.min(ORDERING));
        let before = match self.boot_id(None, &mut ends).await {
            Ok(before) => before,
            Err(exit) => return output(exit),
        };
        let ordered = self.one(self.request.clone(), None, &mut ends).await;
        match ordered.exit() {
            // It may go down before it says how that went.
            Exit::Code(0) | Exit::Signal(_) | Exit::Failed(_) | Exit::TimedOut => {}
            _ => return ordered,
        }
        output(self.comes_back(&before, &mut ends).await)
    }

    /// Waits until the host has started anew.
    async fn comes_back(&self, before: &str, ends: &mut Ends) -> Exit {
        let deadline = Instant::now() + self.wait;
        let mut why = "it has not gone down".to_owned();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let wait = self.wait.as_secs();
                return Exit::Failed(format!("did not restart within {wait} s: {why}"));
            }
            tokio::select! {
                biased;
                _ = &mut ends.cancelled => return Exit::Cancelled,
                () = sleep(LOOK.min(left)) => {}
            }
            match self.boot_id(Some(deadline), ends).await {
                Ok(now) if now != before => return Exit::Code(0),
                Ok(_) => "it has not gone down".clone_into(&mut why),
                Err(Exit::Cancelled) if is_over(deadline) => {}
                Err(Exit::Cancelled) => return Exit::Cancelled,
                // While it starts it may refuse anything.
                Err(exit) => why = exit.to_string(),
            }
        }
    }

    /// Which start of the host it is; or why that cannot be told.
    async fn boot_id(&self, deadline: Option<Instant>, ends: &mut Ends) -> Result<String, Exit> {
        let mut command = Command::new(Program::shell(BOOT_ID), "");
        command.time_limit = Some(LOOKING);
        let request = Request {
            host: self.request.host.clone(),
            ..Request::at(self.request.place.clone(), Action::Run(command))
        };
        match self.one(request, deadline, ends).await {
            ActionResult::Run(output) if output.exit.is_ok() => {
                let text = output.stdout.text().trim().to_owned();
                let none = || Exit::Failed("it does not tell its boot id".to_owned());
                Some(text).filter(|text| !text.is_empty()).ok_or_else(none)
            }
            result => Err(match result.exit() {
                Exit::Code(code) => {
                    Exit::Failed(format!("could not read its boot id: exit code {code}"))
                }
                exit => exit.clone(),
            }),
        }
    }

    /// Performs one action, until the deadline at most. What ends all of it ends that.
    async fn one(
        &self,
        request: Request,
        deadline: Option<Instant>,
        ends: &mut Ends,
    ) -> ActionResult {
        let (cancel, cancelled) = oneshot::channel();
        let inner = Ends {
            cancelled,
            hurried: ends.hurried.clone(),
        };
        let late = async {
            match deadline {
                Some(deadline) => sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        let performer = self.hands.performer(self.id, request, &self.results);
        let mut work = Box::pin(performer.perform(&self.turns, inner));
        tokio::select! {
            biased;
            result = &mut work => return result,
            _ = &mut ends.cancelled => {}
            () = late => {}
        }
        cancel.send(()).ok();
        work.await
    }
}

fn is_over(deadline: Instant) -> bool {
    Instant::now() >= deadline
}
