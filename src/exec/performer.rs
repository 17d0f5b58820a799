//! The choice between a chain of executors and work that acts at once.

use std::sync::mpsc as results;

use tokio::sync::Semaphore;

use super::chain::Chained;
use super::ends::Ends;
use super::heard::Heard;
use super::work::{Hands, Work};
use crate::host::{ActionResult, Request};

impl Hands {
    /// Who performs an action, through its chain if it has one.
    pub(super) fn performer(
        &self,
        id: u64,
        mut request: Request,
        results: &results::Sender<Heard>,
    ) -> Performer {
        match request.chain.take() {
            Some(chain) => Performer::Chained(Box::new(Chained {
                id,
                chain,
                request,
                hands: self.clone(),
                results: results.clone(),
            })),
            None => Performer::Work(self.work(id, request)),
        }
    }
}

/// Who performs an action: a chain of executors, or somebody at once.
pub(super) enum Performer {
    Chained(Box<Chained>),
    Work(Work),
}

impl Performer {
    /// Performs it; what acts takes a turn.
    pub(super) async fn perform(self, turns: &Semaphore, ends: Ends) -> ActionResult {
        match self {
            Self::Chained(chained) => chained.perform(turns, ends).await,
            Self::Work(work) => work.wait_turn(turns, ends).await,
        }
    }
}
