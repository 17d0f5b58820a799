//! What is performed on other machines, and transfers: the connections do it.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use super::ends::{Echo, Ends, Piece};
use super::redact::Redactor;
use super::running::show;
use crate::host::{Action, ActionResult, Call, Pool, Request, Stop, Stream};

/// How many pieces of output wait before the command that writes them waits.
const PIECES_WAITING: usize = 8;

/// An action on another machine, on its way.
pub(super) struct Elsewhere {
    pub(super) id: u64,
    pub(super) request: Request,
    pub(super) echo: Echo,
    pub(super) pool: Arc<Pool>,
}

impl Elsewhere {
    pub(super) async fn perform(self, ends: Ends) -> ActionResult {
        let (stop, stopped) = watch::channel(Stop::No);
        let (pieces, shown) = match &self.echo {
            Some(echo) => {
                let (pieces, heard) = mpsc::channel(PIECES_WAITING);
                (Some(pieces), Some(self.show(heard, echo)))
            }
            None => (None, None),
        };
        let call = Call {
            stop: stopped,
            pieces,
        };
        let showing = async {
            if let Some(shown) = shown {
                shown.await;
            }
        };
        let performing = async {
            let performed = self
                .pool
                .perform(&self.request.place, &self.request.action, call);
            tokio::join!(performed, showing).0
        };
        tokio::select! {
            result = performing => result,
            never = hand_on(ends, stop) => match never {},
        }
    }

    async fn show(
        &self,
        mut pieces: mpsc::Receiver<(Stream, Vec<u8>)>,
        echo: &mpsc::Sender<Piece>,
    ) {
        let Action::Run(command) = &self.request.action else {
            return;
        };
        let mut out = Redactor::of(command);
        let mut err = Redactor::of(command);
        while let Some((stream, bytes)) = pieces.recv().await {
            let redactor = match stream {
                Stream::Stdout => &mut out,
                Stream::Stderr => &mut err,
            };
            show((self.id, stream), redactor.push(&bytes), echo).await;
        }
        show((self.id, Stream::Stdout), out.end(), echo).await;
        show((self.id, Stream::Stderr), err.end(), echo).await;
        // The result does not come before all of it was heard.
        let (tell, heard) = oneshot::channel();
        if echo.send(Piece::Heard(tell)).await.is_ok() {
            heard.await.ok();
        }
    }
}

/// Tells the connections when the action is to end; never ends by itself.
async fn hand_on(ends: Ends, stop: watch::Sender<Stop>) -> Infallible {
    let Ends {
        cancelled,
        mut hurried,
    } = ends;
    if cancelled.await.is_ok() {
        stop.send_replace(Stop::Gently);
        if hurried.wait_for(|hurried| *hurried).await.is_ok() {
            stop.send_replace(Stop::AtOnce);
        }
    }
    std::future::pending().await
}
