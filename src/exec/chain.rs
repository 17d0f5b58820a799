//! Takes an action through its chain of executors: waits, and performs what the chain says.

use std::sync::Arc;
use std::sync::mpsc as results;
use std::time::Instant;

use tokio::sync::{Semaphore, oneshot};

use super::ends::Ends;
use super::heard::Heard;
use super::work::{Hands, Work};
use crate::host::{ActionResult, Chain, ChainProgress, ChainRun, Exit, Nobody, Request, Start};
use crate::system::env::Env;
use crate::system::machine;

/// An action that goes through a chain.
pub(super) struct Chained {
    pub(super) id: u64,
    pub(super) chain: Arc<Chain>,
    pub(super) request: Request,
    pub(super) hands: Hands,
    pub(super) results: results::Sender<Heard>,
}

impl Chained {
    /// Performs it. Only what acts takes a turn: hosts that wait do not hold up others.
    pub(super) async fn perform(self, turns: &Semaphore, mut ends: Ends) -> ActionResult {
        let mut run = self.chain.begin(self.request.clone(), self.start());
        let mut last = None;
        loop {
            let progress = run.step(last.take(), Instant::now());
            self.tell(&mut run);
            match progress {
                ChainProgress::Wait(time) => tokio::select! {
                    biased;
                    _ = &mut ends.cancelled => return self.not_performed(Exit::Cancelled),
                    () = tokio::time::sleep(time) => {}
                },
                ChainProgress::Do(request) => {
                    let result = self.perform_one(*request, turns, &mut ends).await;
                    let cancelled = *result.exit() == Exit::Cancelled;
                    if cancelled {
                        return result;
                    }
                    last = Some(result);
                }
                ChainProgress::Done(result) => return *result,
                ChainProgress::Nothing => return self.not_performed(self.nobody()),
            }
        }
    }

    /// Performs one action; what ends all of it ends that.
    async fn perform_one(
        &self,
        request: Request,
        turns: &Semaphore,
        ends: &mut Ends,
    ) -> ActionResult {
        let (cancel, cancelled) = oneshot::channel();
        let inner = Ends {
            cancelled,
            hurried: ends.hurried.clone(),
        };
        let work = self.hands.work(self.id, request);
        let work = Box::pin(Work::wait_turn(work, turns, inner));
        tokio::pin!(work);
        tokio::select! {
            biased;
            result = &mut work => return result,
            _ = &mut ends.cancelled => {}
        }
        cancel.send(()).ok();
        work.await
    }

    fn start(&self) -> Start {
        Start {
            host: self.request.host.clone().unwrap_or_default(),
            rank: self.request.rank,
            token: ulid::Ulid::generate().to_string(),
            environment: Env::of_this_process(),
            machine: machine::hostname(),
        }
    }

    /// How an action ends that no executor has performed.
    fn nobody(&self) -> Exit {
        match self.chain.nobody {
            Nobody::Warns => Exit::Code(0),
            Nobody::Fails => Exit::Failed("no executor ran the function".to_owned()),
        }
    }

    fn not_performed(&self, exit: Exit) -> ActionResult {
        ActionResult::not_performed(&self.request.action, exit)
    }

    fn tell(&self, run: &mut ChainRun) {
        for note in run.take_notes() {
            // Nobody listens any more when the runner is being dropped.
            self.results.send(Heard::Note(self.id, note)).ok();
        }
    }
}
